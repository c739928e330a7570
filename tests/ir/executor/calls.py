"""Calls: what is given, and the functions that look at the frame that calls them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from graphfix.ir.instructions import Argument, Call
from graphfix.ir.variables import Home

from .frames import Frame

Given = tuple[Any, dict[Any, Any]]


def called(frame: Frame, instruction: Call) -> Any:
    function = frame.values[instruction.function]
    positional, keywords = given(frame, function, instruction.arguments)
    if type(function) in BUILTIN and not keywords:
        if function is builtins.super:
            positional = [*positional] or of_super(frame)
        elif function in TEXTS and [*positional][1:] in ([], [None], [None, None]):
            positional = [positional[0], frame.program.namespace, frame.locals()]
        elif function in VIEWS and not positional:
            return VIEWS[function](frame)
    return frame.program.call(function, positional, keywords)


def given(frame: Frame, function: Any, arguments: tuple[Argument, ...]) -> Given:
    """The arguments by position, and those by name."""
    values = frame.values
    starred = [each for each in arguments if each.stars < 2 and each.name is None]
    if len(starred) == 1 and starred[0].stars:
        positional = values[starred[0].value]  # the call itself says what is wrong with it
    else:
        positional = []
        for each in starred:
            positional += [*values[each.value]] if each.stars else [values[each.value]]
    keywords: dict[Any, Any] = {}
    for each in arguments:
        if each.stars == 2:
            merge(function, keywords, values[each.value])
        elif each.name is not None:
            merge(function, keywords, {each.name: values[each.value]})
    return positional, keywords


def merge(function: Any, keywords: dict[Any, Any], more: Any) -> None:
    """Add arguments by name; each may be given once."""
    if not isinstance(more, dict) and not hasattr(more, "keys"):
        raise TypeError(f"{shown(function)} argument after ** must be a mapping, not {type(more).__name__}")
    for key in more.keys():
        if key in keywords:
            raise TypeError(f"{shown(function)} got multiple values for keyword argument '{key}'")
        keywords[key] = more[key]


def shown(function: Any) -> str:
    """How an error calls a function."""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


def spread(frame: Frame, arguments: tuple[Argument, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The bases and keywords of a class."""
    positional, keywords = given(frame, builtins.__build_class__, arguments)
    return tuple(positional), keywords


# -- functions that see the frame -------------------------------------------------------------------------------------


BUILTIN = (type, type(len))
TEXTS = (builtins.exec, builtins.eval)
VIEWS: dict[Any, Callable[[Frame], Any]] = {
    builtins.locals: Frame.locals,
    builtins.vars: Frame.locals,
    builtins.dir: lambda frame: sorted(frame.locals()),
}


def of_super(frame: Frame) -> list[Any]:
    """`super()` in a method is that of its class and its first argument."""
    signature = frame.code.signature
    first = next(iter((*signature.positional_only, *signature.positional)), None)
    if first is None or isinstance(frame.code.node, (ast.ClassDef, ast.Module)):
        raise RuntimeError("super(): no arguments")
    try:
        own = frame.read(first)
    except NameError:
        raise RuntimeError("super(): arg[0] deleted") from None
    holder = frame.code.scope.variable("__class__")
    if holder.home is not Home.CELL or frame.owns(holder):
        raise RuntimeError("super(): __class__ cell not found")
    try:
        return [frame.cell(holder).cell_contents, own]
    except ValueError:
        raise RuntimeError("super(): empty __class__ cell") from None


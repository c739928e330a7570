"""Looks at what belongs to the program without running any of its code.

`isinstance` asks an object for its `__class__`, `getattr` for its `__getattr__`, a loop for its `__iter__`: all of these may be the
program's own, and may print, count or load. What is here asks types and slots only.
"""

from __future__ import annotations

import collections
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
)
# https://docs.python.org/3/library/functions.html: what gives a function the dictionary of its variables, which is one and the same
# until Python 3.13, so that looking at a frame's variables would write into it
SNAPSHOTS = frozenset(("locals", "vars", "eval", "exec"))
ALONE = 3  # references: of the frame, of who looks, and of the question
OPTIMIZED = 0x1  # https://docs.python.org/3/library/inspect.html#code-objects-bit-flags
_ITERATES: tuple[tuple[type, Callable[[Any], Iterator[Any]]], ...] = (
    (tuple, tuple.__iter__),
    (list, list.__iter__),
    (collections.deque, collections.deque.__iter__),
)


def is_a(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether the type of `value` derives from `kind`, whatever the value itself says of its class."""
    return issubclass(type(value), kind)


def items(value: Any) -> Iterator[Any] | None:
    """The items of a tuple, a list or a deque; None for anything else, such as an iterator, which can be had only once."""
    kind = type(value)
    for base, iterate in _ITERATES:
        if issubclass(kind, base):
            return iterate(value)
    return None


def name_of(function: Any) -> str:
    """The name of what torch or Python defines; empty for an object that can be called."""
    return str(function.__name__) if type(function) in FUNCTIONS else ""


def attributes(value: Any) -> dict[Any, Any]:
    """The instance dictionary of an object; empty where there is none."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if issubclass(type(found), dict) else {}


def variables(frame: Any) -> list[tuple[str, Any]]:
    """The variables of a call, or of a module that runs; none where looking would be seen."""
    code = frame.f_code
    if not code.co_flags & OPTIMIZED:
        return list(dict.items(frame.f_locals)) if is_a(frame.f_locals, dict) else []
    if sys.version_info >= (3, 13):  # https://peps.python.org/pep-0667/
        return list(frame.f_locals.items())
    if takes_snapshots(code):
        return []
    names = frame.f_locals
    found = list(names.items())
    if sys.getrefcount(names) <= ALONE:  # a copy, which would keep everything alive until the call ends
        for name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
            names.pop(name, None)
    return found


@functools.lru_cache(1024)
def takes_snapshots(code: types.CodeType) -> bool:
    """Whether code may hold the dictionary of its variables, or names in it that it has no variables for."""
    if SNAPSHOTS.isdisjoint(code.co_names):
        return False
    loads = (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    return not SNAPSHOTS.isdisjoint(loads)

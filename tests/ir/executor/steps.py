"""The instructions that do one thing and go on."""

from __future__ import annotations

import ast
import operator
import types
from collections.abc import Callable
from typing import Any

from graphfix.ir.instructions import (
    Build,
    Call,
    Catch,
    Collect,
    Constant,
    DeleteAttribute,
    DeleteItem,
    DeleteName,
    Enter,
    Exit,
    Format,
    Import,
    InPlace,
    Instruction,
    Iterate,
    Kind,
    MakeClass,
    MakeFunction,
    Match,
    Opaque,
    Operator,
    Parameter,
    Part,
    ReadAttribute,
    ReadItem,
    ReadName,
    Unpack,
    WriteAttribute,
    WriteItem,
    WriteName,
)

from .calls import called
from .classes import made_class
from .frames import Frame
from .functions import made_function
from .native import imported, matched, unpacked


class NotLowered(Exception):
    """The program has syntax that the representation has no instructions for."""


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "<<": operator.lshift, ">>": operator.rshift, "|": operator.or_, "^": operator.xor,
    "&": operator.and_, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "is": operator.is_, "is not": operator.is_not, "in": lambda item, container: item in container,
    "not in": lambda item, container: item not in container,
}  # fmt: skip
UNARY: dict[str, Callable[[Any], Any]] = {"+": operator.pos, "-": operator.neg, "~": operator.invert, "not": operator.not_}
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "@": operator.imatmul, "<<": operator.ilshift, ">>": operator.irshift,
    "|": operator.ior, "^": operator.ixor, "&": operator.iand,
}  # fmt: skip
CONVERSIONS: dict[str, Callable[[Any], Any]] = {"": lambda value: value, "s": str, "r": repr, "a": ascii}


def computed(frame: Frame, instruction: Operator) -> Any:
    values = [frame.values[each] for each in instruction.values]
    return UNARY[instruction.operator](*values) if len(values) == 1 else BINARY[instruction.operator](*values)


def in_place(frame: Frame, instruction: InPlace) -> Any:
    return IN_PLACE[instruction.operator](frame.values[instruction.target], frame.values[instruction.value])


# -- variables and parts ----------------------------------------------------------------------------------------------


def parameter(frame: Frame, instruction: Parameter) -> None:
    frame.write(instruction.variable, frame.given.pop())


def delete_name(frame: Frame, instruction: DeleteName) -> None:
    if instruction.renewed:
        frame.cells[instruction.variable] = types.CellType()
    else:
        frame.delete(instruction.variable)


def write_attribute(frame: Frame, instruction: WriteAttribute) -> None:
    setattr(frame.values[instruction.object], instruction.name, frame.values[instruction.value])


def write_item(frame: Frame, instruction: WriteItem) -> None:
    frame.values[instruction.object][frame.values[instruction.key]] = frame.values[instruction.value]


def delete_item(frame: Frame, instruction: DeleteItem) -> None:
    del frame.values[instruction.object][frame.values[instruction.key]]


# -- containers and texts ---------------------------------------------------------------------------------------------


def built(frame: Frame, instruction: Build) -> Any:
    kind = instruction.kind
    if kind is Kind.DICT:
        made: dict[Any, Any] = {}
        for item in instruction.items:
            value = frame.values[item.value]
            made |= {**value} if item.key is None else {frame.values[item.key]: value}
        return made
    items: list[Any] = []
    for item in instruction.items:
        value = frame.values[item.value]
        items += ([*iter(value)] if kind is Kind.SET else [*value]) if item.stars else [value]
    if kind is Kind.SLICE:
        return slice(*items)
    return "".join(items) if kind is Kind.TEXT else {Kind.TUPLE: tuple, Kind.LIST: list, Kind.SET: set}[kind](items)


def formatted(frame: Frame, instruction: Format) -> str:
    value = CONVERSIONS[instruction.conversion](frame.values[instruction.value])
    return format(value, frame.values[instruction.form] if instruction.form is not None else "")


def collect(frame: Frame, instruction: Collect) -> None:
    container, value = frame.values[instruction.container], frame.values[instruction.item.value]
    if isinstance(container, dict):
        container[frame.values[instruction.item.key]] = value  # type: ignore[index]
    elif isinstance(container, set):
        container.add(value)
    else:
        container.append(value)


# -- iterators and managers -------------------------------------------------------------------------------------------


def bound(value: Any, name: str) -> Any:
    """A special method, which is looked up on the type; None where it has none."""
    for cls in type(value).__mro__:
        if name in vars(cls):
            found = vars(cls)[name]
            get = getattr(type(found), "__get__", None)
            return found if get is None else get(found, value, type(value))
    return None


def iterated(frame: Frame, instruction: Iterate) -> Any:
    value = frame.values[instruction.value]
    if not instruction.asynchronous:
        # a generator that is a coroutine may wait for one
        waits = isinstance(instruction.node, ast.YieldFrom) and isinstance(value, types.CoroutineType)
        return value if waits else iter(value)
    begin = bound(value, "__aiter__")
    if begin is None:
        raise TypeError(f"'async for' requires an object with __aiter__ method, got {type(value).__name__}")
    iterator = begin()
    if bound(iterator, "__anext__") is None:
        raise TypeError(
            f"'async for' received an object from __aiter__ that does not implement __anext__: {type(iterator).__name__}"
        )
    return iterator


def entered(frame: Frame, instruction: Enter) -> Any:
    manager, letter = frame.values[instruction.manager], "a" if instruction.asynchronous else ""
    protocol = f"'{type(manager).__name__}' object does not support the {'asynchronous ' if letter else ''}context manager protocol"
    enter = bound(manager, f"__{letter}enter__")
    if enter is None:
        raise TypeError(protocol)
    leave = bound(manager, f"__{letter}exit__")
    if leave is None:
        raise TypeError(f"{protocol} (missed __{letter}exit__ method)")
    frame.exits[instruction.manager] = leave
    return frame.program.call(enter, (), {})


def left(frame: Frame, instruction: Exit) -> Any:
    leave = frame.exits.pop(instruction.manager)
    error = None if instruction.exception is None else frame.values[instruction.exception]
    told = (None, None, None) if error is None else (type(error), error, error.__traceback__)
    return frame.program.call(leave, told, {})


# -- all --------------------------------------------------------------------------------------------------------------


def caught(frame: Frame, instruction: Catch) -> Any:
    error, frame.caught = frame.caught, None
    return error


def opaque(frame: Frame, instruction: Opaque) -> Any:
    raise NotLowered(type(instruction.node).__name__)


STEPS: dict[type[Instruction], Callable[[Frame, Any], Any]] = {
    Constant: lambda frame, each: each.value,
    Parameter: parameter,
    ReadName: lambda frame, each: frame.read(each.variable),
    WriteName: lambda frame, each: frame.write(each.variable, frame.values[each.value]),
    DeleteName: delete_name,
    ReadAttribute: lambda frame, each: getattr(frame.values[each.object], each.name),
    WriteAttribute: write_attribute,
    DeleteAttribute: lambda frame, each: delattr(frame.values[each.object], each.name),
    ReadItem: lambda frame, each: frame.values[each.object][frame.values[each.key]],
    WriteItem: write_item,
    DeleteItem: delete_item,
    Build: built,
    Format: formatted,
    Collect: collect,
    Unpack: lambda frame, each: unpacked(each, frame.values[each.value]),
    Part: lambda frame, each: frame.values[each.parts][each.index],
    Match: lambda frame, each: matched(each, frame.values[each.value], [frame.values[one] for one in each.given]),
    Operator: computed,
    InPlace: in_place,
    Call: called,
    MakeFunction: made_function,
    MakeClass: made_class,
    Import: lambda frame, each: imported(each, frame.program.namespace, frame.names),
    Iterate: iterated,
    Catch: caught,
    Enter: entered,
    Exit: left,
    Opaque: opaque,
}

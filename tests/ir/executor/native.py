"""Steps that CPython does itself: small functions of one statement, compiled once for each form of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any

from graphfix.ir.instructions import Import, Match, Pattern, Unpack


def unpacked(instruction: Unpack, value: Any) -> tuple[Any, ...]:
    return _unpacker(instruction.count, instruction.star)(value)


@lru_cache(None)
def _unpacker(count: int, star: int | None) -> Callable[[Any], tuple[Any, ...]]:
    targets, names = _names(count, star)
    return _function(f"({targets}) = value", f"return ({names})")


def matched(instruction: Match, value: Any, given: Sequence[Any]) -> tuple[Any, ...] | None:
    if instruction.pattern is Pattern.EXCEPTION:
        return () if _catches(value, given[0]) else None
    form = (instruction.pattern, instruction.count, instruction.star, instruction.names, instruction.rest, instruction.unread)
    if instruction.pattern is Pattern.CLASS:
        found = _matcher(*form)(value, given[0])
    else:
        found = _matcher(*form)(value, SimpleNamespace(**{f"k{index}": key for index, key in enumerate(given)}))
    assert found is None or isinstance(found, tuple)
    return found


@lru_cache(None)
def _matcher(pattern: Pattern, count: int, star: int | None, names: tuple[str, ...], rest: bool, unread: tuple[int, ...]) -> Callable[..., Any]:
    targets, parts = _names(count, star, unread)
    if pattern is Pattern.SEQUENCE:
        form = f"[{targets}]"
    elif pattern is Pattern.MAPPING:
        form = "".join(f"given.k{index}: p{index}, " for index in range(count)) + ("**rest" if rest else "")
        form, parts = f"{{{form}}}", parts + ("rest," if rest else "")
    else:
        form = "given(" + targets + "".join(f"{name}=n{index}, " for index, name in enumerate(names)) + ")"
        parts += "".join(f"n{index}, " for index in range(len(names)))
    return _function("match value:", f"  case {form}: return ({parts})", "return None")


def _names(count: int, star: int | None, unread: tuple[int, ...] = ()) -> tuple[str, str]:
    """As many targets, and the values that they have got."""
    names = ["_, " if index in unread else f"p{index}, " for index in range(count)]
    targets = "".join(f"*{name}" if index == star else name for index, name in enumerate(names))
    return targets, "".join(names).replace("_", "None")


def _function(*lines: str) -> Callable[..., Any]:
    made: dict[str, Any] = {}
    exec("def function(value, given=None):\n" + "\n".join(f"  {line}" for line in lines), made)
    function: Callable[..., Any] = made["function"]
    return function


def _catches(error: BaseException, classes: Any) -> bool:
    """Whether an exception is caught: hooks of a metaclass are not asked."""
    each = classes if isinstance(classes, tuple) else (classes,)
    if not all(isinstance(one, type) and issubclass(one, BaseException) for one in each):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return any(one in type(error).__mro__ for one in each)


def imported(instruction: Import, namespace: dict[str, Any], names: Any) -> Any:
    """What an import gives; `names`: the namespace of a module or class that all members are bound in."""
    form = (instruction.module, instruction.level, instruction.member, instruction.root)
    if instruction.member == "*":
        return exec(_import(*form), namespace, names)
    made: dict[str, Any] = {}
    exec(_import(*form), namespace, made)
    return next(iter(made.values()))


@lru_cache(None)
def _import(module: str, level: int, member: str | None, root: bool) -> CodeType:
    text = f"import {module}" if root else f"import {module} as member"
    if member is not None:
        text = f"from {'.' * level}{module} import {member}" + (" as member" if member != "*" else "")
    return compile(text, "<import>", "exec")

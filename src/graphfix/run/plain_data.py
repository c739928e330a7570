"""Values of known kinds as JSON, and back. Whatever a file says, what is read of it is data of the kind that was asked for, or nothing.

A kind is a dataclass, an enumeration, or a plain type of Python, in the words of type hints; a value of a dataclass names its class, which
has to be one that stands there, or an heir of it.
"""

from __future__ import annotations

import base64
import enum
import functools
import importlib
import json
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from graphfix.autograd.health import Health
from graphfix.autograd.symptoms import Symptom
from graphfix.lazy_dataclass import fields, is_dataclass

Read = Callable[[Any], Any]
# names of type hints that their own modules import for type checkers alone
NAMES = {"Symptom": Symptom, "Health": Health}
# classes that may not be there yet when a value of them is read, with their modules
HEIRS = {"Notebook": "graphfix.source.notebook", "OldSource": "graphfix.source.old_python"}


class NotPlain(ValueError):
    """A value has no form as plain data, or data is not of the kind that was asked for."""


def written(value: object) -> bytes:
    """A value as JSON; raises `NotPlain` for one of no known kind."""
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def read(kind: Any, data: bytes) -> Any:
    """The value of this kind that `data` spells; raises `NotPlain` where it spells none."""
    try:
        return _reader(kind)(json.loads(data))
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotPlain(f"not a {kind}: {error}") from None


def _plain(value: Any) -> Any:
    if value is None or type(value) in (str, int, bool, float):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_record(value)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, bytes):
        return base64.b85encode(value).decode()
    if isinstance(value, Mapping):
        return [[_plain(key), _plain(part)] for key, part in value.items()]
    if isinstance(value, frozenset):
        return sorted(map(_plain, value))
    raise NotPlain(f"{type(value).__name__} is not plain data")


def _plain_record(value: Any) -> list[Any]:
    """The name of the class, and its fields up to the last that has another value than by default."""
    kind: Any = type(value)
    parts = [getattr(value, name) for name, _ in _fields(kind)]
    for _, default in reversed(_fields(kind)):
        if not parts or parts[-1] != default:
            break
        parts.pop()
    return [type(value).__name__, *map(_plain, parts)]


@functools.cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Each field with its default; a field without one has that nothing equals."""
    return tuple((each.name, each.default) for each in fields(kind))


@functools.cache
def _reader(kind: Any) -> Read:
    """What makes a value of this kind of JSON, or raises `NotPlain`."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(parts)
    if origin is tuple and parts[-1:] == (Ellipsis,):
        return _all_of(tuple, parts[0])
    if origin is tuple:
        return _each_of(parts)
    if origin is frozenset:
        return _all_of(frozenset, parts[0])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pair = _each_of(parts)
        return lambda data: {key: value for key, value in map(pair, _checked(data, list))}
    if is_dataclass(kind):
        return _record_of((kind,))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return lambda data: _known(kind.__members__, data)
    return _ATOMS.get(kind, _refused)


def _record_of(kinds: tuple[Any, ...]) -> Read:
    """What makes a value of one of these dataclasses, or of an heir of one."""
    made: dict[str, tuple[type, list[Read]]] = {}

    def record(data: Any) -> Any:
        name = data[0] if _checked(data, list) and isinstance(data[0], str) else ""
        if name not in made:
            kind = _class_named(name, kinds)
            hints = typing.get_type_hints(kind, localns=NAMES)
            made[name] = kind, [_reader(hints[each]) for each, _ in _fields(kind)]
        kind, readers = made[name]
        if len(data) - 1 > len(readers):
            raise NotPlain(f"{name} has fewer fields")
        try:
            return kind(*(reader(part) for reader, part in zip(readers, data[1:])))
        except TypeError as error:
            raise NotPlain(f"{name}: {error}") from None

    return record


def _class_named(name: str, kinds: tuple[Any, ...]) -> type:
    if name in HEIRS:
        importlib.import_module(HEIRS[name])
    return typing.cast(type, _known({heir.__name__: heir for kind in kinds for heir in _heirs(kind)}, name))


def _heirs(kind: type) -> list[type]:
    """The class, and those below it."""
    below: list[type] = kind.__subclasses__()
    return [kind, *(heir for each in below for heir in _heirs(each))]


def _one_of(kinds: tuple[Any, ...]) -> Read:
    """A value of one of these kinds, of which at most one besides dataclasses and None."""
    records = tuple(kind for kind in kinds if is_dataclass(kind))
    record = _record_of(records) if records else _refused
    other = next((_reader(kind) for kind in kinds if kind not in records and kind is not type(None)), _refused)
    may_be_none = type(None) in kinds

    def one(data: Any) -> Any:
        if data is None and may_be_none:
            return None
        return record(data) if records and isinstance(data, list) else other(data)

    return one


def _all_of(holder: Callable[[typing.Iterable[Any]], Any], kind: Any) -> Read:
    reader = _reader(kind)
    return lambda data: holder(map(reader, _checked(data, list)))


def _each_of(kinds: tuple[Any, ...]) -> Read:
    readers = [_reader(kind) for kind in kinds]

    def each(data: Any) -> Any:
        if len(_checked(data, list)) != len(readers):
            raise NotPlain("another number of parts")
        return tuple(reader(part) for reader, part in zip(readers, data))

    return each


def _checked(data: Any, kind: type) -> Any:
    if type(data) is not kind:
        raise NotPlain(f"{data!r:.60} is not a {kind.__name__}")
    return data


def _known(names: Mapping[str, Any], name: Any) -> Any:
    if not isinstance(name, str) or name not in names:
        raise NotPlain(f"{name!r:.60} is none of {', '.join(names)}")
    return names[name]


def _refused(data: Any) -> Any:
    raise NotPlain("of no kind that is plain data")


_ATOMS: Mapping[Any, Read] = {
    **{kind: functools.partial(_checked, kind=kind) for kind in (str, int, bool, float)},
    bytes: lambda data: base64.b85decode(_checked(data, str)),
    Path: lambda data: Path(_checked(data, str)),
    type(None): functools.partial(_checked, kind=type(None)),
}

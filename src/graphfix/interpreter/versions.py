"""Which torch the program runs on: what is written for torch before 0.4 is not what it does today."""

from __future__ import annotations

import functools
import re

from graphfix.effects.rows import row_of
from graphfix.interpreter.values import MAX_TEXT, NONE, Arguments, Constant, External, Sequence, Value

# that on which the facts about torch's operations were recorded
VERSION = "2.13.0"
METHODS = frozenset(
    ("split", "rsplit", "startswith", "endswith", "strip", "rstrip", "lstrip", "replace", "partition", "lower", "find")
)


@functools.total_ordering
class Release:
    """A parsed version, ordered by its numbers."""

    def __init__(self, text: str) -> None:
        self.numbers = tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:3])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, Release)) and self._padded() == _release(other)._padded()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, (str, Release)):
            return NotImplemented
        return self._padded() < _release(other)._padded()

    def __hash__(self) -> int:
        return hash(self._padded())

    def _padded(self) -> tuple[int, ...]:
        return (*self.numbers, 0, 0, 0)[:3]


def _release(value: str | Release) -> Release:
    return Release(value) if isinstance(value, str) else value


def of_library(name: str) -> Value:
    """What a library has under the qualified `name`."""
    return Constant(VERSION) if name.startswith("torch.") and name.endswith(".__version__") else External(name)


def parsed(name: str, arguments: Arguments) -> Value | None:
    """The version that a function with the qualified `name` makes of a known string; None for anything else."""
    given = arguments[0] if len(arguments) == 1 else NONE
    if (row := row_of(name)) is not None and row.parses_version and isinstance(given, Constant) and isinstance(given.value, str):
        return Constant(Release(given.value))
    return None


def part_of(value: Value, name: str) -> Value | None:
    """`major`, `minor`, `micro`, `release` or `version` of a parsed version."""
    if not isinstance(value, Constant) or not isinstance(value.value, Release):
        return None
    numbers = value.value._padded()
    if name in ("major", "minor", "micro"):
        return Constant(numbers[("major", "minor", "micro").index(name)])
    return Sequence("tuple", [Constant(number) for number in numbers]) if name in ("release", "version") else None


def string_method(receiver: Value, name: str, arguments: Arguments) -> Value | None:
    """What a method of a known string gives for known arguments."""
    values = [part.value for part in (receiver, *arguments) if isinstance(part, Constant)]
    if name not in METHODS or len(values) != len(arguments) + 1 or not isinstance(values[0], str):
        return None
    if any(isinstance(value, str) and len(value) > MAX_TEXT for value in values):
        return None  # `replace` can square the length, again and again
    try:
        made = getattr(values[0], name)(*values[1:])
    except (TypeError, ValueError):
        return None
    if isinstance(made, (list, tuple)):
        return Sequence("list" if isinstance(made, list) else "tuple", [Constant(part) for part in made])
    return Constant(made)

"""Dataclasses that get their methods with their first instance are what those of the standard library are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, replace

import pytest

from graphfix.lazy_dataclass import dataclass, fields, is_dataclass


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 3


@dataclass(frozen=True)
class Named(Point):
    name: str = ""
    also: list[int] = field(default_factory=list)


class Heir(Named):
    def __init__(self, x: int) -> None:
        super().__init__(x, name="heir")


@dataclass
class Own:
    x: int

    def __init__(self) -> None:
        self.x = 7


@dataclass(slots=True)
class Slots(Own):
    y: int = 1


@dataclass(order=True)
class Pickled:
    x: int


@dataclass
class Unused:
    x: int


def test_they_have_the_methods_of_a_dataclass() -> None:
    assert Named(1, name="a") == Named(1, 3, "a") != Named(2)
    assert repr(Named(1)) == "Named(x=1, y=3, name='', also=[])"
    assert Named(1).also is not Named(1).also
    assert replace(Named(1), x=2) == copy.copy(Named(2))
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]


def test_heirs_and_own_constructors_are_called() -> None:
    assert (Heir(4).x, Heir(4).name, Own().x) == (4, "heir", 7)
    assert [each.name for each in fields(Slots)] == ["x", "y"]


def test_an_instance_that_nobody_constructed_has_them() -> None:
    made = pickle.loads(pickle.dumps(Pickled(1)))
    fresh = Unused.__new__(Unused)
    fresh.__setstate__({"x": 1})  # type: ignore[attr-defined]
    assert fresh == Unused(1) and made < Pickled(2)


def test_what_they_are_is_known_before_there_is_an_instance() -> None:
    @dataclass
    class New:
        x: int

    @dataclass
    class Other(New):
        y: int = 0

    assert is_dataclass(Other) and not is_dataclass(int)
    assert [each.name for each in fields(Other)] == ["x", "y"]

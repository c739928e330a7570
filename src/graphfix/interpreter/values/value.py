"""What everything that a program computes with has in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from graphfix.autograd.graph import Leaf, Node

_numbers = itertools.count()


class Serial:
    """What names one value and never another one, however long that one lives: an address is given again to what is made later."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"#{self.number}"


class Value:
    """Anything. `node`: its graph, where it is a tensor, or may be one, that has one.

    `leaf`: the parameters that it is itself. `single`: a tensor of one element. `cut`: the repair under trial that made this
    number of a tensor. `may_be_tensor`: it is one, or unknown; `is_plain`: data that surely is none.
    """

    __slots__ = ("_serial",)
    _serial: Serial
    node: Node | None = None
    leaf: Leaf | None = None
    single = False
    cut: object = None
    may_be_tensor = False
    is_plain = False

    @property
    def identity(self) -> object:
        """Equal identities mean equal values within a run."""
        return self.serial

    @property
    def serial(self) -> Serial:
        """The name of this very object, given when it is asked for."""
        try:
            return self._serial
        except AttributeError:
            self._serial = Serial()
            return self._serial

    @property
    def truth(self) -> bool | None:
        """What `bool` makes of it, where the program alone tells; else None."""
        return True

    @property
    def is_off(self) -> bool:
        """Whether it is a constant that is no, zero or nothing."""
        return False

    @property
    def is_none(self) -> bool:
        """Whether it is the constant `None`."""
        return False

    def members(self, attributes: bool = False) -> Iterable[Value]:
        """What it holds directly; with `attributes` also what objects hold."""
        return ()

    @property
    def namespace(self) -> dict[str, Value] | None:
        """Where its attributes are kept; None where none can be set."""
        return None

    def parts(self) -> Iterable[Value]:
        """Whatever its parameters are the parameters of."""
        return ()

    def copied(self) -> Value:
        """What `copy.copy` makes of it."""
        return self

    def is_a(self, name: str) -> bool | None:
        """Whether it is an instance of the class of a library or of Python; None where that is not known."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self._told()}>"

    def _told(self) -> str:
        """What tells one from the others of its class."""
        return ""


def is_hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, type(None), bytes))

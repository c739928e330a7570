"""What everything that a program computes with has in common."""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.autograd.graph import Node


class Value:
    """Anything. `node`: its graph, where it is a tensor, or may be one, that has one."""

    __slots__ = ()
    node: Node | None = None

    @property
    def identity(self) -> object:
        """Equal identities mean equal values within a run."""
        return id(self)

    @property
    def truth(self) -> bool | None:
        """What `bool` makes of it, where the program alone tells; else None."""
        return True

    def members(self, attributes: bool = False) -> Iterable[Value]:
        """What it holds directly; with `attributes` also what objects hold."""
        return ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{self._told()}>"

    def _told(self) -> str:
        """What tells one from the others of its class."""
        return ""


def is_hashable(value: object) -> bool:
    return isinstance(value, (str, int, float, bool, type(None), bytes))

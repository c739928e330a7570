"""The rows that a project adds to those of graphfix, for as long as its files are analysed.

Rows are asked for by name in many places, which know nothing of projects. The rows of the project at hand therefore lie in a context
variable: it belongs to the thread, and so the analyses that a server makes side by side do not see each other's rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from graphfix.effects.schema import Row

Answer = TypeVar("Answer")


class ProjectRows:
    """Rows by name, and what was found out of names while they held (`answers`): it holds for no other project."""

    def __init__(self, rows: tuple[Row, ...] = ()) -> None:
        # of two rows of one name the later holds: the nearest settings file comes last
        self.by_name = {row.name: row for row in rows}
        self.answers: dict[tuple[Callable[[str], Any], str], Any] = {}

    def of(self, name: str) -> Row | None:
        """The row of a full name; a row whose own name has no dots means each function that is called so."""
        return self.by_name.get(name) or self.by_name.get(name.rpartition(".")[2])

    def methods(self, name: str) -> tuple[Row, ...]:
        """The rows of the methods of this name."""
        return tuple(row for row in self.by_name.values() if row.of_class and row.name.rpartition(".")[2] == name)


NO_ROWS = ProjectRows()
_held: ContextVar[ProjectRows] = ContextVar("rows of the project", default=NO_ROWS)


@contextmanager
def adding(rows: tuple[Row, ...]) -> Iterator[None]:
    """Within it, these rows of a project hold."""
    token = _held.set(_indexed(_Same(rows)) if rows else NO_ROWS)
    try:
        yield
    finally:
        _held.reset(token)


class _Same:
    """Rows that are the same where they are one object: to compare thousands of them takes longer than most files do."""

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.rows is self.rows

    def __hash__(self) -> int:
        return id(self.rows)


@functools.lru_cache(maxsize=16)
def _indexed(rows: _Same) -> ProjectRows:
    return ProjectRows(rows.rows)


def added_row(name: str) -> Row | None:
    """The row that the project has for a function by its full name."""
    return _held.get().of(name)


def has_rows() -> bool:
    """Whether the project has any."""
    return _held.get() is not NO_ROWS


def added_methods(name: str) -> tuple[Row, ...]:
    """The rows that the project has for methods of this name."""
    return _held.get().methods(name)


def is_added_class(name: str) -> bool:
    """Whether the project has rows for methods of the class of this full name."""
    return any(row.of_class == name for row in _held.get().by_name.values())


def added_to_methods(name: str, shipped: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows of methods that graphfix has, and those of the project, which take the place of those of the same class."""
    added = added_methods(name)
    classes = {row.of_class for row in added}
    return (*added, *(row for row in shipped if row.of_class not in classes)) if added else shipped


def added_backward_words() -> frozenset[str]:
    """The names by which a call goes backward whatever is called: those of methods, and those that stand alone."""
    rows = _held.get().by_name.values()
    return frozenset(row.name.rpartition(".")[2] for row in rows if row.backward and (row.of_class or row.even_in_sight))


def kept_by_name(look: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """What `look` says of a name, found out once for each project: a cache that all share would leak rows from one to the next."""

    @functools.wraps(look)
    def kept(name: str) -> Answer:
        answers = _held.get().answers
        if (look, name) not in answers:
            answers[look, name] = look(name)
        return cast("Answer", answers[look, name])

    return kept

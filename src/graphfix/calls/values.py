"""What each value of a program may be: found out where it is asked for, whatever the order in which code runs.

Sets of meanings grow until nothing changes any more, each made of others by an equation: an inclusion-based analysis that tells no calls
apart (Andersen, https://www.cs.cornell.edu/courses/cs711/2005fa/papers/andersen-thesis94.pdf, and Shivers' 0-CFA,
https://doi.org/10.1145/53990.54007), solved on demand. What callers give stays unknown, so that the answers of a file hold for all of its
callers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from graphfix.calls.meanings import UNKNOWN, Meaning
from graphfix.calls.program import Program
from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Value
from graphfix.ir.variables import Variable
from graphfix.lazy_dataclass import dataclass

# equations that are evaluated for one program: what is asked beyond is unknown
MAX_EVALUATIONS = 50_000
# what has more meanings may be anything; of what has more sources only so many are followed
MAX_MEANINGS = 30
MAX_SOURCES = 100


@dataclass(frozen=True, slots=True)
class Returned:
    """What a function gives back."""

    function: ast.AST


@dataclass(frozen=True, slots=True)
class Field:
    """What an attribute of a class's objects, or of the class or file itself, is set to."""

    owner: ast.AST
    name: str


T = TypeVar("T")
Key = tuple[Code, Value] | Variable | Returned | Field
Equation = Callable[["Values", Any], Iterator[Meaning]]


class Values:
    """Solves the equations of a program: `equations` has one for each kind of key."""

    def __init__(self, program: Program, equations: dict[type, Equation]) -> None:
        self.program = program
        self.equations = equations
        self.left = MAX_EVALUATIONS
        self.deriving: set[object] = set()  # what is being derived: a circle meets itself there
        self._known: dict[Key, dict[Meaning, None]] = {}
        self._derived: dict[object, Any] = {}
        self._asking: Key | None = None
        self._is_late = False
        self._pending: dict[Key, None] = {}
        self._waiting: dict[Key, None] = {}
        # who has to be asked again once there is more of something: equations, and what is derived
        self._behind: dict[object, dict[Key, None]] = {}
        self._serving: dict[object, dict[object, None]] = {}
        self._used: dict[object, None] | None = None

    def of(self, key: Key) -> list[Meaning]:
        """All that a value, a variable, a field or a result may be.

        Within an equation: as far as it is known by now; the equation is evaluated again when there is more.
        """
        if key not in self._known:
            self._known[key] = {}
            self._pending[key] = None
        while self._asking is None and (self._pending or self._waiting):
            self._is_late = not self._pending
            self._evaluate((self._pending or self._waiting).popitem()[0])
        self._note(key)
        return list(self._known[key])

    def derived(self, about: object, compute: Callable[[], T]) -> T:
        """What is computed out of some values, kept until there is more of one of these. `about`: what tells it from others."""
        if about not in self._derived:
            outer, self._used = self._used, {}
            self.deriving.add(about)
            self._derived[about] = compute()
            self.deriving.discard(about)
            for used in self._used:
                self._serving.setdefault(used, {})[about] = None
            self._used = outer
        self._note(about)
        answer: T = self._derived[about]
        return answer

    def finds_nothing(self) -> bool:
        """Within an equation that has found nothing: whether it may say so. It is asked again once all else is known."""
        if not self._is_late and self._asking is not None:
            self._waiting[self._asking] = None
        return self._is_late

    @property
    def is_spent(self) -> bool:
        """Whether the budget has ended: what has not been looked at by then is unknown."""
        return self.left <= 0

    def is_derived(self, about: object) -> bool:
        """Whether it has been computed, and is still true."""
        return about in self._derived

    def _note(self, used: object) -> None:
        """Somebody has asked for something as far as it is known by now."""
        if self._asking is not None:
            self._behind.setdefault(used, {})[self._asking] = None
        if self._used is not None:
            self._used[used] = None

    def _evaluate(self, key: Key) -> None:
        self.left -= 1
        known = self._known[key]
        size = len(known)
        self._asking = key
        if not self.is_spent and size < MAX_MEANINGS:
            known.update(dict.fromkeys(self.equations[type(key)](self, key)))
        if self.is_spent or len(known) >= MAX_MEANINGS:
            known[UNKNOWN] = None
        self._asking = None
        if len(known) != size:
            self._tell(key)

    def _tell(self, changed: object) -> None:
        """Ask all again that have used something."""
        pending = [changed]
        while pending:
            each = pending.pop()
            self._pending.update(self._behind.get(each, {}))
            for about in self._serving.pop(each, ()):
                if self._derived.pop(about, None) is not None:
                    pending.append(about)

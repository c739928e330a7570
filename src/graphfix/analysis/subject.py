"""What a finding is about: by it the engine knows that two findings tell one fault, and no rule has to know another."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import field

from graphfix.analysis.conflicts import Conflict
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Telling
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Span

NOTHING: frozenset[object] = frozenset()
Tell = Callable[..., "Draft"]  # `Rule.finding` of the rule whose finding it is


@dataclass(frozen=True, eq=False)
class Subject:
    """What a finding is about, and what it accounts for.

    `about`: what shows the fault: calls, statements, what makes nodes. `explains`: what the finding accounts for; a finding about any of it
    misreads the same fault. `nodes`: the graphs that are recorded, or kept; `targets`: where they are stored, or read as a number;
    `ways`: the statements that lead to each store.
    `parts`: what each edit of the repair is for, by the place of the edit. `ends`: whether its repair does away with what another
    subject is about. `given`: the parameter, with its function, by which
    alone those graphs come in. `is_fleeting`: what keeps them is gone when its function returns.
    """

    about: frozenset[object] = NOTHING
    explains: frozenset[object] = NOTHING
    nodes: frozenset[Node] = frozenset()
    targets: frozenset[object] = NOTHING
    ways: frozenset[tuple[ast.AST, ...]] = frozenset()
    parts: tuple[tuple[Span, Subject], ...] = ()
    ends: Callable[[Subject], bool] | None = None
    given: object = None
    is_fleeting: bool = False

    @property
    def sites(self) -> set[ast.AST]:
        """The expressions that make the graphs: each run has nodes of its own."""
        return {node.site for node in self.nodes}


@dataclass(frozen=True)
class Draft(Finding):
    """A finding as its rule makes it, with what nobody but the engine reads: its subject, and what shows it and guides the search for a repair."""

    subject: Subject = field(default_factory=Subject, compare=False, repr=False)
    shown_by: SecondBackward | Conflict | Telling | None = field(default=None, compare=False, repr=False)


def about(*parts: object) -> Subject:
    return Subject(about=frozenset(parts))


def explaining(parts: Iterable[object]) -> Subject:
    return Subject(explains=frozenset(parts))

"""Findings that only a caller in another file shows: told, never repaired, as further callers may be out of sight."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from graphfix.analysis.callers import called
from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Cuts, Evidence
from graphfix.analysis.explore import Tape
from graphfix.analysis.second_backward import SecondBackward, second_backwards
from graphfix.interpreter.recording import Store
from graphfix.model import Finding, Span

Find = Callable[[Evidence], Iterable[Finding]]


class Elsewhere(Exception):
    """A rule asked for the place of something that stands in another file."""


class CallerEvidence(Evidence):
    """What the runs from other files say of this one; nothing of another file gets a place in this one."""

    @property
    def shows_all_uses(self) -> bool:
        return False

    @cached_property
    def second_backwards(self) -> list[SecondBackward]:
        """Those at the backward calls of this file: the others are found where they stand."""
        return [walk for walk in second_backwards(self.tape) if self.holds(walk.walk.site)]

    def tells(self, store: Store) -> bool:
        """Whether the value is made in this file: one that a caller hands over is cut there, and told there."""
        made = {*store.nodes, *(parent for node in store.nodes for parent in node.parents)}
        storing = store.trace[-1][1]
        return any(
            frame.env.document is self.document and statement is not storing for node in made for frame, statement in node.trace
        )

    def told(self, report: Callable[..., Finding | None], *details: Any) -> Iterator[Finding]:
        """A finding of which a part stands in another file is none here; the rule goes on to its next one."""
        with contextlib.suppress(Elsewhere):
            yield from super().told(report, *details)

    def span(self, node: ast.AST) -> Span:
        if not self.holds(node):
            raise Elsewhere
        return super().span(node)


def caller_evidence(tape: Tape, cuts: tuple[Cuts, ...], *, all_functions: bool = False) -> list[CallerEvidence]:
    """What other files show of the file of `tape`; nothing where none is seen to use it.

    `cuts`: as in `Evidence`; `all_functions`: as in `called`.
    """
    reached = called(tape, all_functions=all_functions)
    return [CallerEvidence(reached, Facts(reached), cuts)] if reached is not None else []


def told_by_callers(evidence: CallerEvidence, known: Iterable[Finding], finds: Iterable[Find]) -> Iterator[Finding]:
    """What no run of the file itself shows. `finds`: the searches for which one run that fails is proof enough."""
    taken = {finding.span for finding in known}
    for find in finds:
        for finding in find(evidence):
            if finding.span not in taken:
                taken.add(finding.span)
                yield finding.without_fix("the fault depends on callers in other files")

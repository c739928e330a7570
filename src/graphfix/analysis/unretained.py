"""The file once more with `retain_graph=True` ignored: what does each retained graph serve, and what does it hide?"""

from __future__ import annotations

import ast

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Constant, Value
from graphfix.lazy_dataclass import dataclass

RETAINING = ("retain_graph", "retain_variables")


@dataclass(eq=False)
class Unretained:
    """The trial's evidence, and the calls whose `retain_graph=True` was ignored in it."""

    evidence: Evidence
    sites: dict[ast.Call, ast.keyword]

    def walks(self, *causes: Cause) -> list[SecondBackward]:
        """The second walks of these causes that retaining hides."""
        return [walk for walk in self.evidence.second_backwards if walk.cause in causes and walk.freed_by.site in self.sites]


@asked_once
def unretained(evidence: Evidence) -> Unretained | None:
    """The trial in which graphs are retained for nobody; None where nothing is retained or the trial proves nothing."""
    sites = {
        event.site: keyword
        for run in evidence.tape.runs
        for event in run.recording.walks
        if event.keyword is True and not event.creates and evidence.program.holds(event.site)
        for keyword in event.site.keywords
        if keyword.arg in RETAINING and isinstance(keyword.value, ast.Constant)
    }
    return trial(evidence, sites) if sites else None


@asked_once
def across_iterations(evidence: Evidence) -> Unretained | None:
    """The same, where the graphs that another walk of the same iteration needs stay retained."""
    first = unretained(evidence)
    if first is None:
        return None
    serving = {walk.freed_by.site for walk in first.walks(Cause.SEQUENTIAL, Cause.REPEATED)}
    left = {site: keyword for site, keyword in first.sites.items() if site not in serving}
    if len(left) == len(first.sites):
        return first
    return trial(evidence, left) if left else None


def trial(evidence: Evidence, sites: dict[ast.Call, ast.keyword]) -> Unretained | None:
    tape = evidence.tape.replay({keyword.value: as_false for keyword in sites.values()})
    return None if tape.truncated else Unretained(Evidence(tape, Facts(tape), evidence.cuts), sites)


def as_false(m: Interpreter, node: ast.AST, value: Value) -> Value:
    return Constant(False)

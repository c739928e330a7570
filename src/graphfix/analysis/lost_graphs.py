"""Backward passes that find no graph, because it was cut on the way from the parameters to the loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from graphfix.analysis.evidence import Evidence
from graphfix.autograd.severed import Severed
from graphfix.interpreter.recording import Bare


@dataclass(frozen=True, eq=False)
class LostGraph:
    """A backward pass that raises in each run, as its loss has no graph, and where that was cut."""

    bare: Bare
    severed: Severed


def lost_graphs(evidence: Evidence) -> Iterator[LostGraph]:
    """The calls of `backward()` that find no graph in any run that comes to them, each once, where the cut is in sight.

    Runs that were cut short by the budget do not show what the others would have found.
    """
    if evidence.tape.truncated:
        return
    found: dict[ast.Call, list[Bare]] = {}
    walked = {event.site for run in evidence.tape.runs for event in run.recording.walks}
    for run in evidence.tape.runs:
        for bare in run.recording.bare:
            found.setdefault(bare.site, []).append(bare)
    for site, every in found.items():
        cuts = [bare.severed for bare in every if bare.severed is not None]
        if site in walked or len(cuts) < len(every) or not evidence.program.holds(site):
            continue
        if all(evidence.program.holds(cut.site) for cut in cuts):
            yield LostGraph(every[0], cuts[0])

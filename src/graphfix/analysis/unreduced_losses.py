"""Backward passes from a loss of which there is one for each sample."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Unreduced


def unreduced_losses(evidence: Evidence) -> Iterator[Unreduced]:
    """The calls of `backward()` that are refused in each run that comes to them, each once; none whose error the program may swallow."""
    found: dict[ast.Call, list[Unreduced]] = {}
    walks: dict[ast.AST, int] = {}
    for run in evidence.tape.runs:
        for walk in run.recording.walks:
            walks[walk.site] = walks.get(walk.site, 0) + 1
        for each in run.recording.unreduced:
            found.setdefault(each.site, []).append(each)
    for site, every in found.items():
        if len(every) == walks.get(site) and evidence.program.holds(site) and not evidence.swallows(site):
            yield every[0]

"""Losses that lead into a network which no optimizer steps, and which is not meant to be: a target network, a teacher."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphfix.analysis.conflicts import cut_points
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import severable
from graphfix.autograd.graph import Leaf, history


@dataclass(eq=False)
class IdleNetwork:
    """A backward call that leaves gradients in a network that nobody trains; `cuts`: what to detach, so that it leaves none there."""

    site: ast.Call
    cuts: list[ast.expr]
    walks: list[BackwardPass] = field(default_factory=list)


@asked_once
def idle_networks(evidence: Evidence) -> list[IdleNetwork]:
    """Each backward call that goes through such a network in every run, for nothing, in source order."""
    found: dict[ast.Call, IdleNetwork | None] = {}
    for run in () if evidence.tape.truncated else [run.at_face_value() for run in evidence.tape.runs]:
        for event in run.recording.walks:
            if event.targets is None and evidence.program.holds(event.site):
                cuts = needless(evidence, run, event)
                known = found.setdefault(event.site, IdleNetwork(event.site, cuts) if cuts else None)
                if known is not None and known.cuts == cuts:
                    known.walks.append(event)
                else:
                    found[event.site] = None
    return sorted((each for each in found.values() if each is not None), key=lambda e: (e.site.lineno, e.site.col_offset))


def needless(evidence: Evidence, run: Run, event: BackwardPass) -> list[ast.expr]:
    """What to detach so that the walk leaves networks alone that nobody trains; nothing where a gradient that is used gets lost."""
    nodes = [
        node
        for node in history(list(event.roots))
        if any(run.fates.is_idle(leaf) and (node.training is False or is_copy(run, leaf)) for leaf in node.leaves)
    ]
    return cut_points(evidence, run, severable(run.fates, event, nodes)) or [] if nodes else []


def is_copy(run: Run, leaf: Leaf) -> bool:
    """Whether the parameter gets its values from one that is trained."""
    return leaf.origin is not None and not run.fates.is_idle(leaf.origin)

"""Losses that lead into a network which they do not train.

No optimizer steps it, and none is meant to (a target network, a teacher), or what the loss leaves there is cleared before any step.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field

from graphfix.analysis.conflicts import cut_points
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import severable
from graphfix.autograd.graph import Leaf, Node
from graphfix.lazy_dataclass import dataclass

Needless = Callable[[Run, BackwardPass], list[Node] | None]


@dataclass(eq=False)
class IdleNetwork:
    """A backward call that leaves gradients in a network for nothing; `cuts`: what to detach, so that it leaves none there.

    `is_trained`: other losses train the network, and what this one leaves there is cleared before any step.
    """

    site: ast.Call
    cuts: list[ast.expr]
    is_trained: bool = False
    walks: list[BackwardPass] = field(default_factory=list)


@asked_once
def idle_networks(evidence: Evidence) -> list[IdleNetwork]:
    """Each backward call that goes through such a network in every run, for nothing, in source order."""
    runs = [] if evidence.tape.truncated else [run.at_face_value() for run in evidence.tape.runs]
    untrained = found_in(evidence, runs, untrained_nodes, is_trained=False)
    # who reads a gradient may want it for that
    unread = [run for run in evidence.tape.runs if runs and not run.reads_gradients(clipping=False)]
    cleared = found_in(evidence, unread, cleared_nodes, is_trained=True)
    known = {each.site for each in untrained}
    both = [*untrained, *(each for each in cleared if each.site not in known)]
    return sorted(both, key=lambda each: (each.site.lineno, each.site.col_offset))


def found_in(evidence: Evidence, runs: Sequence[Run], needless: Needless, *, is_trained: bool) -> list[IdleNetwork]:
    """The calls that go through `needless` nodes which can all be cut off in the same places, in every run that says something of that."""
    found: dict[ast.Call, IdleNetwork | None] = {}
    for run in runs:
        for event in run.recording.walks:
            if event.targets is None and evidence.program.holds(event.site):
                nodes = needless(run, event)
                if nodes is None:
                    continue
                # nothing where a gradient that is used gets lost
                cuts = cut_points(evidence, run, severable(run.fates, event, nodes)) or [] if nodes else []
                known = found.setdefault(event.site, IdleNetwork(event.site, cuts, is_trained) if cuts else None)
                if known is not None and known.cuts == cuts:
                    known.walks.append(event)
                else:
                    found[event.site] = None
    return [each for each in found.values() if each is not None]


def untrained_nodes(run: Run, event: BackwardPass) -> list[Node]:
    """The nodes of a backward pass that use parameters which nobody trains, and which nobody means to."""
    return [
        node
        for node in event.below
        if any(run.fates.is_idle(leaf) and (node.training is False or is_copy(run, leaf)) for leaf in node.leaves)
    ]


def cleared_nodes(run: Run, event: BackwardPass) -> list[Node] | None:
    """The nodes that use parameters of which every gradient from this call is cleared unused, while other calls train them.

    None where the run ends before that is known of all of them, as one does that leaves out the other player's turn.
    """
    below = event.below
    # what raises, or what makes others raise, has another fault; a penalty on gradients needs the way to what they are taken for
    if event.hits or event.stale or event in run.freeing_too_early or not run.gradients_asked_for.isdisjoint(below):
        return []
    using = [node for node in below if node.leaves]
    found = [
        node
        for node in using
        if all(walk.site is event.site for walk in node.walks)  # what several losses share is another question
        and all(leaf.module and not run.fates.is_idle(leaf) and run.fates.is_dropped(event, leaf) for leaf in node.leaves)
    ]
    is_open = any(not run.fates.is_used(event, leaf) for node in using for leaf in node.leaves)
    return found or (None if is_open else [])


def is_copy(run: Run, leaf: Leaf) -> bool:
    """Whether the parameter gets its values from one that is trained."""
    return leaf.origin is not None and not run.fates.is_idle(leaf.origin)

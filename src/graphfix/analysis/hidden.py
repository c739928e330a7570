"""What `retain_graph=True` hides: walks over graphs of earlier iterations, which would raise without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from graphfix.analysis.carried import by_carrier, kept_at
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.growing_places import GrowingPlace
from graphfix.analysis.outer_graph import external_nodes, outer_births
from graphfix.analysis.piles import faulty_piles
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.analysis.unretained import Unretained, across_iterations
from graphfix.interpreter.recording import Store
from graphfix.lazy_dataclass import dataclass


@dataclass(eq=False)
class Hidden:
    """Second walks that are told and repaired together, as all that one loop carries.

    `carriers`: the walks by what carries the graph; `pile`: the container that keeps it.
    """

    cause: Cause
    walks: list[SecondBackward]
    loop: ast.AST | None = None
    carriers: dict[str, list[SecondBackward]] = field(default_factory=dict)
    pile: GrowingPlace | None = None


@asked_once
def hidden(evidence: Evidence) -> list[Hidden]:
    """What would raise without retaining, as far as there is a place in the file to tell it at."""
    trial = across_iterations(evidence)
    if trial is None:
        return []
    walks = [
        walk
        for walk in trial.walks(Cause.CARRIED, Cause.TOTAL, Cause.EXTERNAL)
        if (walk.always and (walk.cause is not Cause.EXTERNAL or is_stepped(walk)))
        or (walk.cause is Cause.CARRIED and not is_managed(trial.evidence, walk))
    ]
    return [*carried(trial.evidence, walks), *piled_up(trial), *outer(trial.evidence, walks)]


def carried(trial: Evidence, walks: list[SecondBackward]) -> Iterator[Hidden]:
    """The state of each loop, all of it together."""
    by_loop: dict[ast.AST | None, dict[str, list[SecondBackward]]] = {}
    for (loop, carrier), group in by_carrier(walks).items():
        by_loop.setdefault(loop, {})[carrier] = group
    for loop, carriers in by_loop.items():
        if any(kept_at(trial, loop, name, group[0]) is not None for name, group in carriers.items()):
            yield Hidden(Cause.CARRIED, [walk for group in carriers.values() for walk in group], loop, carriers)


def piled_up(trial: Unretained) -> Iterator[Hidden]:
    """The containers out of which old graphs are walked."""
    kept = [walk for walk in trial.walks(Cause.KEPT) if walk.always]
    for pile in faulty_piles(trial.evidence) if kept else ():
        here = any(trial.evidence.program.holds(store.target) for store in pile.stores)
        if pile.raises and (pile.expressions or here):
            yield Hidden(Cause.KEPT, kept, pile=pile)


def outer(trial: Evidence, walks: list[SecondBackward]) -> Iterator[Hidden]:
    """Totals and computations that are initialised once, outside the loop."""
    for walk in walks:
        if not trial.program.holds(walk.walk.site):
            continue
        total = walk.cause is Cause.TOTAL and walk.carriers
        if total or walk.cause is Cause.EXTERNAL and walk.loop is not None and outer_births(trial, walk):
            yield Hidden(walk.cause, [walk])


def is_managed(trial: Evidence, walk: SecondBackward) -> bool:
    """Whether the program itself detaches what is carried, in some iterations: then it decides how far a gradient goes."""
    detached = {
        ast.unparse(store.target)
        for run in trial.tape.runs
        for node in run.recording.cuts
        for store in node.stores
        if isinstance(store, Store)
    }
    return bool(detached & set(walk.carriers))


def is_stepped(walk: SecondBackward) -> bool:
    """Whether an optimizer changes what lies below the outer graph while the loop walks it: then it is stale."""
    leaves = {leaf for node in external_nodes(walk) for leaf in node.leaves}
    run, event, hit = walk.hits[0]
    return any(
        update.steps and update.leaves & leaves and hit.freed_by.order < update.order < event.order
        for update in run.recording.updates
    )

"""Containers that pile up graphs, and places that keep one from an earlier iteration."""

from __future__ import annotations

import ast

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.growing_places import GrowingPlace, ends_with_pass, expressions_to_cut, is_sure, makes_graph
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import Cause, is_live, reads
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import LoopEntry, is_before_loop, split_loop
from graphfix.interpreter.recording import Boundary, Store, StoreKind
from graphfix.interpreter.values import Instance, Mapping, Sequence, Unknown

PUTS = frozenset((StoreKind.APPENDED, StoreKind.EXTENDED, StoreKind.ASSIGNED))


@asked_once
def faulty_piles(evidence: Evidence) -> list[GrowingPlace]:
    """The containers, and the places of one value, that keep graphs for nobody, each with the expressions to cut."""
    piles: dict[ast.AST, GrowingPlace] = {}
    slots: dict[ast.AST, GrowingPlace] = {}
    for run in evidence.tape.runs:
        collect(evidence, run, piles)
        collect_slots(evidence, run, slots)
    taken_out(evidence, piles)
    found = [pile for pile in {**slots, **piles}.values() if is_fault(evidence, pile)]
    for pile in found:
        pile.expressions = expressions_to_cut(evidence, pile.stores)
        if pile.raises and not evidence.loses_nothing(pile.expressions):
            pile.expressions = []  # the same iteration walks what it stores
            pile.needed = True
    return found


def is_fault(evidence: Evidence, pile: GrowingPlace) -> bool:
    if pile.walked and not pile.raises or not any(is_sure(evidence, store) for store in pile.stores):
        return False
    if pile.ever_freed:
        return True
    return in_sight(pile) and not any(ends_with_pass(store) or evidence.leaves_function(store) for store in pile.stores)


def in_sight(pile: GrowingPlace) -> bool:
    """Whether values that no walk frees are surely tensors, in a script of which every reader is simulated."""
    return not pile.escaped and pile.is_of_script and all(node.certain for store in pile.stores for node in store.nodes)


def collect(evidence: Evidence, run: Run, piles: dict[ast.AST, GrowingPlace]) -> None:
    """Stores beside what an earlier iteration put into the same container."""
    by_holder: dict[int, list[Store]] = {}
    for store in run.recording.stores:
        if store.holder is None or store.kind not in PUTS or isinstance(store.holder, Unknown):
            continue
        if isinstance(store.holder, Sequence) and store.holder.in_turn and store.kind is StoreKind.ASSIGNED:
            continue  # state
        by_holder.setdefault(id(store.holder), []).append(store)
    for stores in by_holder.values():
        for later in stores:
            older = [s for s in stores if s.order < later.order and s.target is later.target and kept(s, later, run.gradients_asked_for)]
            for store in older:
                note(evidence.facts, run, piles.setdefault(store.target, GrowingPlace()), store, later)


def kept(earlier: Store, later: Store, gradients: set[Node]) -> bool:
    """Whether the container still holds what an earlier iteration put there, once the later store has taken its place."""
    split = split_loop(earlier.context, later.context)
    if split is None:
        return False
    stay = set(later.beside) - set(later.old)
    # a loop that hands on what was there before it keeps no more graphs than there are
    entry = earlier.context[split][0]
    fresh = (node for node in earlier.nodes if node in stay and not is_before_loop(node.context, earlier.context, split))
    return any(makes_graph(node, entry, gradients) for node in fresh)


def note(facts: Facts, run: Run, pile: GrowingPlace, store: Store, later: Store) -> None:
    pile.stores.extend((store, later))
    freed = all(facts.is_spent(node, later.order) for node in store.nodes)
    pile.note(run, [store], freed)
    if not freed:
        pile.walked |= any(event.order > store.order for node in store.nodes for event in node.walks)


def collect_slots(evidence: Evidence, run: Run, slots: dict[ast.AST, GrowingPlace]) -> None:
    """Places that hold one value from an earlier iteration, such as the best so far, with its graph.

    It is one graph, but a whole one, with all tensors that it saved, unless a walk has freed them: then it has to be a
    value that was put away on purpose, not just a name that is computed anew in some iterations.
    """
    by_place: dict[tuple[int, object], list[Store]] = {}
    for store in run.recording.stores:
        by_place.setdefault((id(store.place[0]), store.place[1]), []).append(store)
    boundaries: dict[LoopEntry, list[Boundary]] = {}
    for boundary in run.recording.boundaries:
        boundaries.setdefault(boundary.entry, []).append(boundary)
    for stores in by_place.values():
        last = stores[-1]
        if last.kind is StoreKind.ASSIGNED and last.nodes and not isinstance(last.holder, Sequence) and stays(boundaries, last):
            pile = slots.setdefault(last.target, GrowingPlace(keeps_one=True))
            pile.stores.append(last)
            computed = any(last.trace[-1] in node.trace for node in last.nodes)
            freed = not computed and all(evidence.facts.is_spent(node) for node in last.nodes)
            pile.note(run, [last], freed)
            if not freed:
                pile.walked |= any(node.walks for node in history(list(last.nodes)))


def stays(boundaries: dict[LoopEntry, list[Boundary]], store: Store) -> bool:
    """Whether the value outlives its iteration, in a place that a later iteration may read before it is bound anew."""
    for boundary in (each for active in dict(store.context) for each in boundaries.get(active, ())):
        entry = boundary.entry
        if boundary.order > store.order:
            if isinstance(store.target, ast.Name):
                of_frame = boundary.frame is store.trace[-1][0]
                if of_frame and reads(boundary.frame.definition, store.target.id) and is_live(boundary.frame, entry.loop, store.target.id):
                    return True
            owner = store.place[0]
            if isinstance(owner, (Instance, Mapping)) and all(active is not entry for active, _ in owner.context or ()):
                return True
    return False


def taken_out(evidence: Evidence, piles: dict[ast.AST, GrowingPlace]) -> None:
    """Containers out of which a freed graph is walked."""
    for walk in evidence.second_backwards:
        if walk.cause is not Cause.KEPT:
            continue
        for store in walk.stores:
            if store.kind in PUTS and store.holder is not None:
                pile = piles.setdefault(store.target, GrowingPlace())
                pile.stores.append(store)
                pile.raises = True
                pile.second.append(walk)
                pile.ever_freed = True
                pile.entries.add(walk.entry)

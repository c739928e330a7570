"""State that each iteration makes of the state before, and that no backward pass ever walks."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.growing_places import GrowingPlace, by_place, ends_with_pass, holders, is_cut_at_once
from graphfix.analysis.runs import Run
from graphfix.analysis.totals import adds, operands
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import split_loop
from graphfix.interpreter.recording import Store, StoreKind
from graphfix.interpreter.values import Instance
from graphfix.source.spelling import word

SHORT = 3  # iterations


def unwalked_state(evidence: Evidence, attributes: bool) -> dict[ast.AST, GrowingPlace]:
    """The growing state in attributes, or in plain names, by the target of its stores."""
    places: dict[ast.AST, GrowingPlace] = {}
    walked: set[ast.AST] = set()
    for run in evidence.tape.runs:
        collect(evidence, run, attributes, places, walked)
    return {
        target: place
        for target, place in places.items()
        if target not in walked and is_fault(evidence, place) and outlives_iteration(evidence, target)
    }


def outlives_iteration(evidence: Evidence, target: ast.AST) -> bool:
    """Whether what is stored may be read once the iteration is over: an attribute stays, of whatever object or class it is."""
    return not isinstance(target, ast.Name) or evidence.flow.is_carried(target)


def is_short(loop: ast.AST | None) -> bool:
    """Whether the code spells out that a loop ends soon, as one that only shows what a module gives: nothing grows there."""
    if not isinstance(loop, ast.For):
        return False
    over = loop.iter
    if isinstance(over, (ast.List, ast.Tuple)):
        return not any(isinstance(each, ast.Starred) for each in over.elts)
    given = over.args if isinstance(over, ast.Call) and word(over.func) == "range" else []
    ends = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, int)]
    return bool(given) and len(ends) == len(given) and max(ends) <= SHORT


def is_made_of_layers(store: Store, depth: int) -> bool:
    """Whether each iteration of the loop at this `depth` applies modules of its own: a stack of layers is as deep as it is written."""
    loop = store.context[depth][0]
    iterations: dict[Leaf, set[int]] = {}
    for node in history(list(store.nodes)):
        if len(node.context) > depth and node.context[depth][0] is loop:
            for leaf in node.leaves:
                if leaf.module:
                    iterations.setdefault(leaf, set()).add(node.context[depth][1])
    return bool(iterations) and all(len(each) == 1 for each in iterations.values())


def is_fault(evidence: Evidence, place: GrowingPlace) -> bool:
    """Whether nobody can use the graphs: walks free them before more is added, or all code is in sight and none hands them on."""
    if not place.freed:
        if not place.is_of_script or place.escaped or any(map(ends_with_pass, place.stores)):
            return False
        if any(evidence.leaves_function(store) for store in place.stores):
            return False
    return all(evidence.facts.is_sure(node) for store in place.stores for node in store.nodes)


def collect(evidence: Evidence, run: Run, attributes: bool, places: dict[ast.AST, GrowingPlace], walked: set[ast.AST]) -> None:
    """Add what this run shows; `walked` collects the targets of places whose content some backward pass walks."""
    cut = set(history(list(run.recording.cuts)))
    for stores in by_place(run):
        kind = isinstance(stores[0].place[0], Instance)
        if any(node.walks for store in stores for node in store.nodes):
            walked.update(store.target for store in stores)
            continue
        if kind is not attributes:
            continue
        holding = holders(stores)
        for store in stores:
            if store.kind is not StoreKind.ASSIGNED or not evidence.program.holds(store.target) or is_cut_at_once(store, stores):
                continue
            earlier = grown_from(store, holding, cut)
            if earlier is not None:
                place = places.setdefault(store.target, GrowingPlace())
                place.stores.append(store)
                # what only a walk after the loop frees may be, with all iterations, an objective in a run that walks it instead
                place.note(run, stores, all(evidence.facts.is_spent(node, store.order) for node in earlier.nodes))


def grown_from(store: Store, holding: Mapping[Node, Sequence[Store]], cut: set[Node]) -> Store | None:
    """What an earlier iteration left in the place and is part of what this one puts there; None where the place does not grow.

    `holding`: for each node, all stores that put it into the place.
    `cut`: what the run detaches, or is a part of that: a sum that is cut as a whole in the end is meant to be.
    """
    if not isinstance(store.target, (ast.Name, ast.Attribute)):
        return None
    if all(store.trace[-1] not in node.trace for node in store.nodes):
        return None  # made elsewhere and only passed on here
    below = {id(each): each for node in history(list(store.nodes)) for each in holding.get(node, ())}
    for earlier in sorted(below.values(), key=lambda each: each.order):
        if earlier.order >= store.order:
            return None
        crossed = split_loop(earlier.context, store.context)
        if crossed is not None and not is_short(store.context[crossed][0].loop) and not is_made_of_layers(store, crossed):
            is_cut = adds(operands(store), set(earlier.nodes)) and not cut.isdisjoint(store.nodes)
            return None if is_cut else earlier
    return None

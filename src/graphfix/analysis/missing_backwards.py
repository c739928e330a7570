"""Losses that no backward pass goes through, made between the clearing of gradients and the step that was to use theirs.

Two things show such a loss. Nothing at all may leave a gradient in the parameters between the two: the step does nothing. Or only penalties
on gradients do, while the loss that they go with is left out: a penalty alone is no objective.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterator, Sequence
from typing import TypeVar

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.flow.places import Sink
from graphfix.analysis.read_gradients import reads_gradients
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.autograd.gradients import Update
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.interpreter.recording import Foreign, Store, StoreKind
from graphfix.interpreter.values import BoundMethod, Function, Partial, Tensor, Value, leaves_in, nodes_in
from graphfix.lazy_dataclass import dataclass
from graphfix.models.words import WALKS
from graphfix.source.document import Document
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

Ordered = TypeVar("Ordered", BackwardPass, Foreign, Store)
GRADIENTS = ("grad", "_grad")
NAMED = (StoreKind.ASSIGNED, StoreKind.AUGMENTED)


@dataclass(eq=False)
class MissingBackward:
    """A loss (`store`: where it gets its name) without a backward pass between `clear` and `step`.

    `losses`: how many there are that lead to no other one. `penalties`: the backward passes that the step has gradients of; none where it
    has no gradient. `is_open`: code that is not in sight runs in between. `nodes`: the graphs of all such losses, in all runs.
    """

    clear: Update
    step: Update
    store: Store
    losses: int
    penalties: list[BackwardPass]
    is_open: bool
    nodes: set[Node]


@dataclass(eq=False)
class Interval:
    """What a run does between the clearing of a step's gradients, at the moment `start`, and the step."""

    run: Run
    start: int
    clear: Update
    step: Update

    def holds(self, order: int) -> bool:
        return self.start < order < self.step.order

    def part_of(self, events: Sequence[Ordered]) -> Sequence[Ordered]:
        """Those of a run's events, in their order, that lie in it: runs are long, and have many steps."""
        first = bisect.bisect_right(events, self.start, key=lambda event: event.order)
        return events[first : bisect.bisect_left(events, self.step.order, key=lambda event: event.order)]


class Contradicted(Exception):
    """The step may have had a gradient."""


@asked_once
def missing_backwards(evidence: Evidence) -> list[MissingBackward]:
    """Those of a file, in source order, one for each loss. A step that has, or may have, gradients in any run has none."""
    found: dict[ast.Call, list[MissingBackward]] = {}
    refuted: set[ast.Call] = set()
    for run in () if evidence.tape.truncated else evidence.tape.runs:
        for step in run.recording.updates:
            site = step.site
            if isinstance(site, ast.Call) and step.steps and word(site.func) == "step" and evidence.program.holds(site):
                try:
                    found.setdefault(site, []).extend(lacking(evidence, run, step))
                except Contradicted:
                    refuted.add(site)
    of_steps = [merged(every) for site, every in found.items() if every and site not in refuted]
    of_losses: dict[ast.AST, MissingBackward] = {}
    for each in sorted(of_steps, key=lambda each: place_of(each.step.site)):
        of_losses.setdefault(each.store.site, each)  # several optimizers may step for one loss
    return [each for each in of_losses.values() if not may_be_walked_unseen(evidence, each)]


def place_of(site: ast.AST) -> tuple[int, int]:
    return (site.lineno, site.col_offset)  # type: ignore[attr-defined]


def merged(every: list[MissingBackward]) -> MissingBackward:
    """What all runs have found for one step: the loss into which the most goes, and the graphs of all."""
    last = min(reversed(every), key=lambda each: each.losses)
    last.is_open = any(each.is_open for each in every)
    last.nodes = {node for each in every for node in each.nodes}
    return last


@asked_once
def expressions_waiting(evidence: Evidence) -> set[ast.AST]:
    """The expressions whose graphs lead into such a loss: who cuts one hides that its backward pass is missing."""
    losses = missing_backwards(evidence)
    below = {parent for each in losses for node in each.nodes for parent in node.parents}
    used = {expression for expression, uses in evidence.facts.uses.items() if any(not below.isdisjoint(u.nodes) for u in uses)}
    return used | {node.site for node in below} if losses else set()


def lacking(evidence: Evidence, run: Run, step: Update) -> Iterator[MissingBackward]:
    """The loss of which this step of a run has no gradient, if there is one.

    Raises `Contradicted` where the step may have gradients that are not those of penalties.
    """
    interval = before_step(run, step)
    if interval is None:
        return
    passes = [event for event in interval.part_of(run.recording.walks) if may_reach(event, step)]
    if not all(is_penalty(run, event, step.leaves) for event in passes):
        raise Contradicted
    losses = losses_in(evidence, interval)
    # a loss of gradients may be the objective, and what is computed beside it now and then a measure
    if passes and not losses:
        raise Contradicted
    foreign = interval.part_of(run.recording.foreign)
    if losses:
        if is_out_of_sight(interval, foreign) or any(is_handed_on(interval, store) for store in losses):
            raise Contradicted
        nodes = set(history([node for store in losses for node in store.nodes]))
        yield MissingBackward(interval.clear, step, losses[-1], len(losses), passes, bool(foreign), nodes)


def before_step(run: Run, step: Update) -> Interval | None:
    """From where on the parameters of a step have no gradient; None where the run has begun without.

    Raises `Contradicted` where some of the parameters may have a gradient from before.
    """
    updates = run.fates.updates_of
    last = [last_before(updates[leaf], step) for leaf in step.leaves]
    clears = [update for update in last if update is not None and not update.steps]
    if not last or len(clears) < len(last):
        begins = run.entry.is_module and not any(last)
        if begins and not any(may_reach(event, step) for event in run.recording.walks if event.order < step.order):
            return None
        raise Contradicted
    clear = min(clears, key=lambda update: update.order)
    if not step.complete and clear.leaves != step.leaves:
        raise Contradicted  # the optimizer has more, and another clears
    return Interval(run, clear.order, clear, step)


def last_before(updates: Sequence[Update], step: Update) -> Update | None:
    number = bisect.bisect_left(updates, step.order, key=lambda update: update.order)
    return updates[number - 1] if number else None


def may_reach(event: BackwardPass, step: Update) -> bool:
    """Whether a backward pass may leave a gradient in a parameter of the step. `autograd.grad` leaves none anywhere."""
    if event.kind is WalkKind.GRAD:
        return False
    below = event.below
    return not step.complete or any(
        not node.certain or node.callee is not None or not step.leaves.isdisjoint(node.leaves) for node in below
    )


def is_penalty(run: Run, event: BackwardPass, leaves: frozenset[Leaf]) -> bool:
    """Whether a backward pass comes to the leaves by nothing but gradients that `create_graph=True` has recorded."""
    made = run.gradients_asked_for
    pending = list(event.roots)
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node in made or node in seen:
            continue
        seen.add(node)
        if not node.certain or node.callee is not None or not leaves.isdisjoint(node.leaves):
            return False
        pending.extend(node.parents)
    return True


def losses_in(evidence: Evidence, interval: Interval) -> list[Store]:
    """What is made of values of one element, has a name, and leads to nothing else that has one: no walk ever goes through it.

    Each is surely computed from the parameters.
    """
    stores = [
        store
        for store in interval.part_of(interval.run.recording.stores)
        if store.kind in NAMED and evidence.program.holds(store.site) and store.value.node is not None
        if interval.holds(store.value.node.order) and not store.value.node.walks
        if reaches_surely(evidence, store.value.node, interval.step.leaves)
    ]
    single = single_nodes(evidence)
    below = {node for store in stores if store.value.node for node in history(list(store.value.node.parents))}
    last = {store.value.node: store for store in stores if store.value.node not in below}
    return [store for root, store in last.items() if root and not single.isdisjoint(history([root])) and not is_spent(root)]


@asked_once
def single_nodes(evidence: Evidence) -> set[Node]:
    """Those of values of one element that are stored, added or passed on."""
    uses = (use for every in evidence.facts.uses.values() for use in every)
    return {node for use in uses if isinstance(use.value, Tensor) and use.value.single for node in use.nodes}


def is_spent(root: Node) -> bool:
    """Whether a backward pass from here would meet a graph that is freed: the value shares it with a loss that trains."""
    return any(node.saves and node.freed_by is not None for node in history([root]))


def reaches_surely(evidence: Evidence, root: Node, leaves: frozenset[Leaf]) -> bool:
    """Whether known parts of a graph lead from the root to one of the leaves."""
    pending = [root]
    seen: set[Node] = set()
    while pending:
        node = pending.pop()
        if node not in seen and evidence.facts.is_sure(node):
            seen.add(node)
            if not leaves.isdisjoint(node.leaves):
                return True
            pending.extend(node.parents)
    return False


def is_out_of_sight(interval: Interval, foreign: list[Foreign]) -> bool:
    """Whether one of the calls of code that is not in sight had hold of the parameters, or of what is computed from them."""
    handed = [value for each in interval.run.recording.handed if each.order < interval.step.order for value in each.values]
    receivers = [each.receiver for each in foreign if each.receiver is not None]
    return bool(foreign) and any(may_lead_to(value, interval.step.leaves) for value in (*receivers, *handed))


def may_lead_to(value: Value, leaves: frozenset[Leaf]) -> bool:
    """Whether whoever has a value may run what computes with the leaves, or go backward to them."""
    if isinstance(value, (Function, BoundMethod, Partial)) or not leaves.isdisjoint(leaves_in(value)):
        return True
    return any(not leaves.isdisjoint(node.leaves) for node in history(nodes_in(value)))


def is_handed_on(interval: Interval, store: Store) -> bool:
    """Whether code that is not in sight gets the loss before the step."""
    escapes = interval.run.recording.escapes
    return any(order < interval.step.order for node in store.nodes for _, _, order in escapes.get(node, ()))


def may_be_walked_unseen(evidence: Evidence, found: MissingBackward) -> bool:
    """Whether code that no run has come to may give the step a gradient, by a backward pass or by hand."""
    documents = list(evidence.flow.code.documents.values())
    if any(reads_gradients(document) or puts_gradients(document) for document in (*evidence.program.files, *documents)):
        return True
    walking = (WALKS | evidence.tape.conventions.walking) - {"grad"}
    executed = evidence.tape.executed
    codes = {code for frame, _ in found.step.trace for code in evidence.flow.reached(frame.definition)}
    spelled = (part for code in codes for part in subtree(code) if isinstance(part, (ast.Attribute, ast.Name)))
    for part in spelled:
        if word(part) in walking:
            own = next((document for document in (*evidence.program.files, *documents) if part in document.parents), None)
            if own is None or own.statement_of(part) not in executed:
                return True
    escapes = found.is_open or bool(found.penalties)  # with nothing in between, what becomes of the loss later is too late
    if found.store.value_site is None:
        return escapes
    reach = evidence.flow.graph.reach([found.store.value_site])
    return any(arrival.sink is Sink.WALKED or arrival.sink is Sink.ESCAPES and escapes for arrival in reach.arrivals)


def puts_gradients(document: Document) -> bool:
    """Whether a file names the gradient in a way by which it is put into a parameter: `setattr(p, "grad", g)`, `p._grad = g`."""
    return any(
        isinstance(part, ast.Constant) and part.value in GRADIENTS or isinstance(part, ast.Attribute) and part.attr == "_grad"
        for part in subtree(document.tree)
    )

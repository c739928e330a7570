"""Running totals, means and moving averages: places whose new content is their old content and something added."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.growing_places import (
    GrowingPlace,
    by_place,
    end_of,
    expressions_to_cut,
    holders,
    in_forward,
    is_cut_at_once,
    is_sure,
    makes_graph,
)
from graphfix.analysis.runs import Run
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import Context, LoopEntry, is_before_loop, split_loop
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance

# of one stored value, the latest first: a total of a total goes back to the beginning of the run
MOST_OPERANDS = 500
ADDING = frozenset(("add", "add_", "sub", "sub_", "lerp", "lerp_", "mul", "mul_"))


@asked_once
def faulty_totals(evidence: Evidence) -> list[GrowingPlace]:
    """The totals that keep graphs for nobody, each with the expressions to cut."""
    found = [total for total in totals(evidence) if is_fault(evidence, total)]
    for total in found:
        total.expressions = expressions_to_cut(evidence, total.stores)
    return found


@asked_once
def totals(evidence: Evidence) -> list[GrowingPlace]:
    """Places whose new content is their old content of an earlier iteration plus something with a graph."""
    found: dict[ast.AST, GrowingPlace] = {}
    for run in evidence.tape.runs:
        for stores in by_place(run):
            collect(evidence, run, stores, found)
    merged = {id(total): total for total in found.values()}
    return list(merged.values())


def is_fault(evidence: Evidence, total: GrowingPlace) -> bool:
    if total.walked or not any(is_sure(evidence, store) for store in total.chained):
        return False
    return total.ever_freed or is_plain_log(evidence, total)


def is_plain_log(evidence: Evidence, total: GrowingPlace) -> bool:
    """Whether a total that no walk frees is a log all the same: the sum of a script, or of one element, that only code in sight reads.

    Anything else may be an objective, or a part of a forward pass, that code which is not in sight walks.
    """
    if total.escaped or any(map(in_forward, total.chained)):
        return False
    if total.is_of_script:
        own = {node for store in total.stores for node in store.nodes}
        if own.isdisjoint(below_walks(evidence)) and own.isdisjoint(history(addends(total, own))):
            return True
    elif any(isinstance(store.place[0], Instance) or evidence.leaves_function(store) for store in total.stores):
        return False
    added = [
        use for store in total.chained for use in evidence.facts.uses.get(store.value_site, ()) if store.value_site is not None
    ]
    return bool(added) and all(evidence.facts.is_single(use) for use in added)


def addends(total: GrowingPlace, own: set[Node]) -> list[Node]:
    """What is added to a total, or multiplied with it: none of it is made of the total where that is no state."""
    return [
        part
        for store in total.chained
        for parts in operands(store).values()
        for part in parts
        if part not in own and not is_of(store, part)
    ]


@asked_once
def below_walks(evidence: Evidence) -> set[Node]:
    """What the roots of walks are computed from, also behind the tensors that a walk goes to and no further."""
    return set(history([root for run in evidence.tape.runs for walk in run.recording.walks for root in walk.roots]))


def collect(evidence: Evidence, run: Run, stores: list[Store], found: dict[ast.AST, GrowingPlace]) -> None:
    """Add what this run shows of one place. A name that is used for two totals in two loops is two places."""
    by_loop: dict[ast.AST | None, list[Store]] = {}
    ends: dict[Store, float] = {}
    holding = holders(stores)
    for store in stores:
        entry = chain_loop(store, holding, run.gradients_asked_for)
        if entry is not None:
            by_loop.setdefault(entry.loop if entry.loop is not None else store.trace[0][1], []).append(store)
            ends[store] = end_of(entry)
    for loop, chained in by_loop.items():
        targets = dict.fromkeys(store.target for store in chained)
        fed = [s for s in stores if s.target in targets or any(entry.loop is loop for entry, _ in s.context)]
        total = next((found[target] for target in targets if target in found), None) or GrowingPlace()
        found.update(dict.fromkeys(targets, total))
        # a run that walks the sum and resets it at once shows that it is no log, also for the runs that do not
        total.walked |= are_walked_after(chained, fed)
        kept = [store for store in chained if not is_cut_at_once(store, stores)]
        if not kept:
            continue
        total.stores.extend(fed)
        total.chained.extend(kept)
        for store in kept:
            total.note(run, [store], all(evidence.facts.is_spent(node, ends[store]) for node in store.nodes))


def chain_loop(store: Store, holding: Mapping[Node, Sequence[Store]], gradients: set[Node]) -> LoopEntry | None:
    """The loop whose earlier iteration's content of the place is an operand of this store's value, beside a graph that the loop makes.

    `holding`: for each node, all stores that put it into the place.
    """
    summed = operands(store)
    older = {id(each): each for parts in summed.values() for part in parts for each in holding.get(part, ())}
    for earlier in sorted(older.values(), key=lambda each: each.order):
        if earlier.order >= store.order:
            break
        index = split_loop(earlier.context, store.context)
        if index is None:
            continue
        made = {node: parts for node, parts in summed.items() if not is_before_loop(node.context, store.context, index)}
        if adds(made, set(earlier.nodes)) and brings_anew(made, store, store.context[index][0], holding, gradients):
            return store.context[index][0]
    return None


def brings_anew(
    made: Mapping[Node, set[Node]], store: Store, entry: LoopEntry, holding: Mapping[Node, Sequence[Store]], gradients: set[Node]
) -> bool:  # fmt: skip
    """Whether an operand brings a graph that the loop has made: more than arithmetic with the total and what was there before the loop."""
    parts = {part for parts in made.values() for part in parts if part.leaves or not is_of(store, part)}
    return any(node.leaves for node in made if node not in gradients) or any(makes_graph(part, entry, gradients, holding) for part in parts)


def is_of(store: Store, made: Node) -> bool:
    """Whether a node is arithmetic of the storing statement."""
    return is_arithmetic(made.site) and made.trace[-1] == store.trace[-1]


def are_walked_after(chained: list[Store], fed: list[Store]) -> bool:
    """Whether a backward pass walks one of the `chained` sums, or walks over the whole loop that sums: then the sum is no log.

    `fed`: all that the loop puts into the place.
    """
    if any(event.order > store.order for store in chained for node in store.nodes for event in node.walks):
        return True
    own = {node for store in fed for node in store.nodes}
    iterations = iterations_of(fed)
    sums: dict[LoopEntry, list[Node]] = {}
    for store in chained:
        sums.setdefault(summing_loop(store, iterations), []).extend(store.nodes)
    return any(
        all(active is not entry for active, _ in event.context)
        for entry, nodes in sums.items()
        for node in history(nodes)
        if node.walks and node not in own and any(active is entry for active, _ in node.context)
        for event in node.walks
    )


def iterations_of(stores: list[Store]) -> dict[Context, set[int]]:
    """The iterations in which something is stored, by the loops around: the last of the key is the loop itself, in its iteration 0."""
    found: dict[Context, set[int]] = {}
    for context in {store.context for store in stores}:
        for index, (entry, iteration) in enumerate(context):
            found.setdefault((*context[:index], (entry, 0)), set()).add(iteration)
    return found


def summing_loop(store: Store, iterations: dict[Context, set[int]]) -> LoopEntry:
    """The innermost loop around a store of which another iteration feeds the place, too; the outermost one where there is none."""
    context = store.context
    for index in reversed(range(len(context))):
        entry, iteration = context[index]
        if iterations.get((*context[:index], (entry, 0)), set()) - {iteration}:
            return entry
    return context[0][0]


def operands(store: Store) -> dict[Node, set[Node]]:
    """For each stored node what it is made of by arithmetic of the storing statement, intermediate results included."""
    summed: dict[Node, set[Node]] = {}
    for node in store.nodes:
        found = summed[node] = set()
        pending = [node]
        while pending and len(found) < MOST_OPERANDS:
            made = pending.pop()
            if is_of(store, made):
                pending.extend(parent for parent in made.parents if parent not in found)
                found.update(made.parents)
    return summed


def adds(summed: dict[Node, set[Node]], older: set[Node]) -> bool:
    """Whether the stored value, made of `summed`, is arithmetic on one of `older`."""
    return any(not older.isdisjoint(parts) for node, parts in summed.items() if node not in older)


def is_arithmetic(site: ast.AST) -> bool:
    if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute):
        return site.func.attr in ADDING
    return isinstance(site, (ast.AugAssign, ast.BinOp, ast.Subscript))

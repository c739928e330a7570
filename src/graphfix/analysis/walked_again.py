"""Whether the graph of a walk is walked once more: in the same run, or by code that is not in sight."""

from __future__ import annotations

import ast
from itertools import takewhile

from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass, met
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import Context
from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance


def may_share(one: list[Node], two: list[Node], context: Context) -> bool:
    """Whether two graphs have a node in common, or may have: that of an unknown object which was made in the iteration `context`."""
    first, second = rumoured(one, context), rumoured(two, context)
    return not set(first).isdisjoint(second) or not taken_from(first).isdisjoint(taken_from(second))


def taken_from(nodes: list[Node]) -> set[object]:
    """What those graphs were taken from, of which nothing else is known: the container of which `losses[0]` is an item."""
    keys = [node.callee.parts[1] for node in nodes if kind_of(node.callee) == "given" and isinstance(node.callee, Key)]
    return {
        part
        for key in keys
        if kind_of(key) in ("item", "slice") and isinstance(key, Key)
        for part in key.parts
        if isinstance(part, Key)
    }


def rumoured(nodes: list[Node], context: Context) -> list[Node]:
    """All nodes below, also through unknown objects of this iteration."""
    found = dict.fromkeys(history(nodes))
    pending = list(found)
    while pending:
        beyond = pending.pop().perhaps
        if beyond is not None and beyond not in found and beyond.context[: len(context)] == context:
            new = [node for node in history([beyond]) if node not in found]
            found.update(dict.fromkeys(new))
            pending.extend(new)
    return list(found)


def needed(event: BackwardPass, besides: ast.AST | None) -> bool:
    """Whether a later walk of the same run, other than one by the call `besides`, meets a node of this one."""
    later = (walk for node in met(event) for walk in takewhile(lambda walk: walk.order > event.order, reversed(node.walks)))
    if any(walk.site is not besides for walk in later):
        return True
    return besides is None and comes_again(event)


def comes_again(event: BackwardPass) -> bool:
    """Whether it lies in a loop that goes on, which its graph is older than: `(grad(loss, p, retain_graph=True) for p in parameters)`.

    Of a loop over parameters, and in some others, one iteration is run.
    """
    return any(
        entry.goes_on and all(entry is not each for root in event.roots for each, _ in root.context) for entry, _ in event.context
    )


def in_sight(run: Run, event: BackwardPass) -> bool:
    """Whether all of the graph was made by code in sight, and none of it given away after the walk."""
    return all(node.certain and not escapes_after(run, node, event) for node in met(event))


def escapes_after(run: Run, node: object, event: BackwardPass) -> bool:
    return any(order > event.order for _, _, order in run.recording.escapes.get(node, ()))  # type: ignore[call-overload]


def shared_with_given(run: Run, event: BackwardPass) -> bool:
    """Whether another value over the same graph may be walked later: it gets to code that is not in sight, or code there made both.

    What the walk itself went through is only logged there, as a rule.
    """
    walked = set(met(event))
    others = [
        node
        for node, escapes in run.recording.escapes.items()
        if node not in walked and any(why == "argument" and order > event.order for _, why, order in escapes)
    ]
    depth = len(event.context)
    for walk, again in run.last_walks:
        if walk.order > event.order and walk.context[:depth] == event.context:
            others += again if walked.isdisjoint(reversed(again)) else ()  # what graphs share lies at their bottom
    return bool(others) and may_share(list(walked), others, event.context)


def behind_recorded_gradients(run: Run, event: BackwardPass) -> bool:
    """Whether an earlier `backward(create_graph=True)` has left gradients that have graphs in `.grad`.

    Who steps with them (https://arxiv.org/abs/1703.03400) gives the parameters these graphs, of which all that is computed later is part,
    by whatever names they are set again.
    """
    return run.first_recorded < event.order


def of_one_container(run: Run, event: BackwardPass) -> bool:
    """Whether a later walk begins at another item of what this one begins at an item of: nobody knows what those share, as rows of a tensor do."""
    taken = taken_from(met(event))
    later = (walk for walk in run.recording.walks if walk.order > event.order) if taken else ()
    return any(not taken.isdisjoint(taken_from(met(walk))) for walk in later)


def walks_from_pile(run: Run, event: BackwardPass) -> bool:
    """Whether the graph is kept in a container from before the loop, and walks start at what is taken out of it."""
    if not event.context:
        return False
    entry = event.context[-1][0]
    piles = {
        id(store.holder)
        for node in event.nodes
        for store in node.stores
        if isinstance(store, Store) and store.holder is not None and not isinstance(store.holder, Instance)
        and all(active is not entry for active, _ in getattr(store.holder, "context", None) or ())
    }  # fmt: skip
    return bool(piles) and any(
        isinstance(store, Store) and id(store.holder) in piles
        for walk in run.recording.walks
        for node in walk.roots
        for store in node.stores
    )

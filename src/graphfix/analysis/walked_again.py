"""Whether the graph of a walk is walked once more: in the same run, or by code that is not in sight."""

from __future__ import annotations

import ast

from graphfix.analysis.explore import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import history
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance


def needed(event: BackwardPass, besides: ast.AST | None) -> bool:
    """Whether a later walk of the same run, other than one by the call `besides`, meets a node of this one."""
    return any(later.order > event.order and later.site is not besides for node in event.nodes for later in node.walks)


def in_sight(run: Run, event: BackwardPass) -> bool:
    """Whether all of the graph was made by code in sight, and none of it given away after the walk."""
    return all(node.certain and not escapes_after(run, node, event) for node in event.nodes)


def escapes_after(run: Run, node: object, event: BackwardPass) -> bool:
    return any(order > event.order for _, _, order in run.recording.escapes.get(node, ()))  # type: ignore[call-overload]


def shared_with_given(run: Run, event: BackwardPass) -> bool:
    """Whether another value over the same graph gets, after the walk, to code that is not in sight: that may walk it.

    What the walk itself went through is only logged there, as a rule.
    """
    walked = set(event.nodes)
    others = [
        node
        for node, escapes in run.recording.escapes.items()
        if node not in walked and any(why == "argument" and order > event.order for _, why, order in escapes)
    ]
    return bool(others) and not walked.isdisjoint(history(others))


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

"""A run that shows a fault: the way of a graph from where it is recorded to the backward pass that raises, where an edit may stand."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property

from graphfix.analysis.conflicts import Conflict
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import LoopEntry, split_loop
from graphfix.interpreter.recording import Use
from graphfix.interpreter.values import Value
from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class Witness:
    """A run whose backward pass `event` meets nodes that were freed, or whose parameters were changed, by the code at `spoiler`.

    `since`: the order of that. `path`: the nodes from the root of `event` down to the one that is met. `entry`: the loop whose iterations meet,
    None where they are in the same one; `carriers`: the names that bring the graph from one to the next. `shown`: all that is known of the fault.
    """

    cause: Cause
    run: Run
    event: BackwardPass
    spoiler: ast.AST
    since: int
    path: tuple[Node, ...]
    entry: LoopEntry | None
    shown: SecondBackward | Conflict

    @property
    def carriers(self) -> tuple[str, ...]:
        return tuple(self.shown.carriers) if isinstance(self.shown, SecondBackward) else ()

    @property
    def loop(self) -> ast.AST | None:
        return self.entry.loop if self.entry is not None else None

    @property
    def frame(self) -> object:
        """The call whose loop it is."""
        return self.entry.frame if self.entry is not None else None

    @cached_property
    def old(self) -> tuple[Node, ...]:
        """The nodes of the path that were recorded before the iteration of the backward pass; in one iteration, those from before it was spoiled."""
        return tuple(node for node in self.path if not self.is_fresh(node))

    def is_fresh(self, node: Node) -> bool:
        """Whether the iteration of the backward pass recorded the node."""
        depth = next((number for number, (entry, _) in enumerate(self.event.context) if entry is self.entry), None)
        if depth is None:
            return False
        return len(node.context) > depth and node.context[depth] == self.event.context[depth]

    @property
    def entering(self) -> Node | None:
        """The node by which the iteration first takes up the old graph; None where the backward pass begins in it."""
        fresh = [node for node in self.path if self.is_fresh(node)]
        return fresh[-1] if fresh else None


def witness_of(shown: SecondBackward | Conflict) -> Witness:
    """The first run that shows the fault."""
    if isinstance(shown, SecondBackward):
        run, event, hit = shown.hits[0]
        depth = split_loop(shown.freed_by.context, event.context)
        entry = event.context[depth][0] if depth is not None else None
        return Witness(shown.cause, run, event, shown.freed_by.site, shown.freed_by.order, tuple(hit.path), entry, shown)
    path = way_to(shown.event, shown.stale)
    step = shown.steps[0]
    depth = split_loop(path[-1].context, shown.event.context)
    entry = shown.event.context[depth][0] if depth is not None else None
    cause = Cause.EXTERNAL if entry is not None else Cause.SEQUENTIAL
    return Witness(cause, shown.run, shown.event, step.site, step.order, path, entry, shown)


def way_to(event: BackwardPass, wanted: Collection[Node]) -> tuple[Node, ...]:
    """A shortest way from the roots of a backward pass to one of these nodes, which lie below."""
    above: dict[Node, Node | None] = {root: None for root in event.roots}
    for node in (pending := list(above)):
        if node in wanted:
            way: list[Node] = []
            step: Node | None = node
            while step is not None:
                way.append(step)
                step = above[step]
            return tuple(reversed(way))
        for parent in node.parents:
            if parent not in above:
                above[parent] = node
                pending.append(parent)
    raise ValueError("none of the nodes lies below the backward pass")


def expressions_of(evidence: Evidence, nodes: tuple[Node, ...]) -> dict[ast.expr, Value]:
    """The expressions of the program whose value has one of the `nodes` at its top, each with such a value, in the order of the nodes."""
    found: dict[ast.expr, tuple[int, Value]] = {}
    for expression, use, place in uses_of(evidence, nodes):
        found.setdefault(expression, (place, use.value))
    ordered = sorted(found, key=lambda each: (found[each][0], each.lineno, each.col_offset))
    return {each: found[each][1] for each in ordered}


def uses_of(evidence: Evidence, nodes: tuple[Node, ...]) -> list[tuple[ast.expr, Use, int]]:
    """Where expressions of the program had one of the `nodes` at their top, each with the number of that node."""
    wanted = {node: number for number, node in enumerate(nodes)}
    return [
        (expression, use, min(wanted[node] for node in use.nodes if node in wanted))
        for expression, uses in evidence.facts.uses.items()
        if evidence.program.holds(expression)
        for use in uses
        if any(node in wanted for node in use.nodes)
    ]

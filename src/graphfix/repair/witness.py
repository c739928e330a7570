"""The way of a graph from where it is recorded to the backward pass that meets it freed: where an edit may stand."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import split_loop
from graphfix.interpreter.values import Value


@dataclass(frozen=True, eq=False)
class Witness:
    """A run that shows the fault: its backward pass `event` meets nodes that an earlier one has freed.

    `path`: the nodes from the root of `event` down to the freed one; `old`: those of them that the iteration of `event` did not record.
    """

    group: SecondBackward
    run: Run
    event: BackwardPass
    path: tuple[Node, ...]

    @cached_property
    def depth(self) -> int | None:
        """The position, in the context of the backward pass, of the loop whose iterations meet; None where there is none."""
        return split_loop(self.group.freed_by.context, self.event.context)

    @cached_property
    def old(self) -> tuple[Node, ...]:
        """The nodes of the path that were recorded before the iteration of the backward pass."""
        return tuple(node for node in self.path if not self.is_fresh(node))

    def is_fresh(self, node: Node) -> bool:
        """Whether the iteration of the backward pass recorded the node."""
        depth = self.depth
        if depth is None:
            return False
        return len(node.context) > depth and node.context[depth] == self.event.context[depth]

    @property
    def entering(self) -> Node | None:
        """The node by which the iteration first takes up the old graph; None where the backward pass begins in it."""
        fresh = [node for node in self.path if self.is_fresh(node)]
        return fresh[-1] if fresh else None


def witness_of(group: SecondBackward) -> Witness:
    """The first run that shows the fault of the group."""
    run, event, hit = group.hits[0]
    return Witness(group, run, event, tuple(hit.path))


def expressions_of(evidence: Evidence, nodes: tuple[Node, ...]) -> dict[ast.expr, Value]:
    """The expressions of the program whose value has one of the `nodes` at its top, each with such a value, in the order of the nodes."""
    wanted = {node: number for number, node in enumerate(nodes)}
    found: dict[ast.expr, tuple[int, Value]] = {}
    for expression, uses in evidence.facts.uses.items():
        for use in uses:
            places = [wanted[node] for node in use.nodes if node in wanted]
            if places and evidence.program.holds(expression) and expression not in found:
                found[expression] = min(places), use.value
    ordered = sorted(found, key=lambda each: (found[each][0], each.lineno, each.col_offset))
    return {each: found[each][1] for each in ordered}

"""Graphs that are built outside of a loop and walked in it."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Leaf, Node, history


def outer_births(evidence: Evidence, walk: SecondBackward) -> list[Node]:
    """What this file makes outside of the loop of the walk, or what a statement of it, beside the loop, has made in other files."""
    nodes = external_nodes(walk)
    births = [node for node in nodes if evidence.program.holds(node.site)]
    if not births:
        return nodes if nodes and all(statements_of(evidence, walk, [node]) for node in nodes) else []
    return births


def external_nodes(walk: SecondBackward) -> list[Node]:
    """The nodes below the walked losses that were made before the loop was entered."""
    found: dict[Node, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        for node in history([hit.node]):
            if all(active is not entry for active, _ in node.context):
                found[node] = None
    return list(found)


def statements_of(evidence: Evidence, walk: SecondBackward, nodes: list[Node]) -> list[ast.stmt]:
    """The statements of the loop's function that made the nodes, in source order."""
    found: dict[ast.stmt, None] = {}
    for node in nodes:
        for frame, statement in node.trace:
            if walk.frame is not None and frame.definition is walk.frame.definition and evidence.program.holds(statement):
                found[statement] = None
                break
    return sorted(found, key=lambda s: s.lineno)


def trained_leaves(nodes: list[Node]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in node.leaves if leaf.trained]


def trained_inside(walk: SecondBackward, leaves: list[Leaf]) -> bool:
    """Whether each of `leaves` also gets a gradient from a graph that is made anew in each iteration."""
    run, _, _ = walk.hits[0]
    _, entry = walk.entries[0]
    fresh = {
        leaf
        for event in run.recording.walks
        for node in event.nodes
        if any(active is entry for active, _ in node.context)
        for leaf in node.leaves
    }
    return all(any(leaf.site is other.site for other in fresh) for leaf in leaves)


def gradient_is_dropped(walk: SecondBackward, leaves: list[Leaf]) -> bool:
    """Whether the gradient that the first walk leaves in `leaves` is cleared before any step uses it, in every run.

    Then a detach changes nothing even for a loop of one iteration.
    """
    wanted = {leaf.site for leaf in leaves}
    for run, _, hit in walk.hits:
        pending = set(wanted)
        for update in run.recording.updates:
            if update.order < hit.freed_by.order or not pending:
                continue
            touched = {leaf.site for leaf in update.leaves} & pending
            if update.steps and (touched or not update.complete):
                return False
            pending -= touched
        if pending:
            return False
    return True

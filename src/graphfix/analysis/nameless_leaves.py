"""Leaves without a name: what is computed from them in the same statement is kept instead, and never trained."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.second_backward import Cause
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.interpreter.recording import Read, ReadKind
from graphfix.interpreter.values import Tensor
from graphfix.source.subtree import subtree


@asked_once
def nameless(evidence: Evidence) -> dict[ast.Assign, tuple[Leaf, ast.AST, bool]]:
    """The assignments of something computed from a leaf that is made in the same statement.

    Each with the leaf, with what shows that the leaf is meant to train, and with whether that is an optimizer, which refuses it: else it is
    a backward pass that goes through the same graph again.
    """
    found: dict[ast.Assign, tuple[Leaf, ast.AST, bool]] = {}
    shown: list[tuple[Node, ast.AST, bool]] = []
    for run in evidence.tape.runs:
        for read in run.recording.misuses:
            if read.kind is ReadKind.OPTIMIZED and isinstance(read.value, Tensor) and read.value.node is not None:
                shown.append((read.value.node, read.site, True))
    for walk in evidence.second_backwards:
        if walk.cause is Cause.EXTERNAL and walk.always:
            shown.extend((hit.node, walk.walk.site, False) for _, _, hit in walk.hits)
    for node, site, refuses in shown:
        for below in history([node]):
            for leaf in below.leaves:
                statement = made_in(evidence, below, leaf)
                if statement is not None:
                    found.setdefault(statement, (leaf, site, refuses))
    return found


@asked_once
def refused(evidence: Evidence) -> dict[Node, Read]:
    """What is no leaf and is given to an optimizer, which raises: no assignment shows both the leaf and what is computed from it."""
    named = nameless(evidence)
    found: dict[Node, Read] = {}
    for run in evidence.tape.runs:
        for read in run.recording.misuses:
            node = read.value.node if read.kind is ReadKind.OPTIMIZED and isinstance(read.value, Tensor) else None
            if node is None or not node.certain or not evidence.program.holds(read.site):
                continue
            made = {evidence.program.statement_of(each.site) for each in history([node]) if evidence.program.holds(each.site)}
            if made.isdisjoint(named):
                found.setdefault(node, read)
    return found


def made_in(evidence: Evidence, node: Node, leaf: Leaf) -> ast.Assign | None:
    """The assignment in which both the leaf and the operation on it stand, where the leaf is not its very value."""
    here = evidence.program.holds(leaf.site) and evidence.program.holds(node.site)
    if not isinstance(leaf.site, ast.Call) or not here or leaf.trained:
        return None
    statement = evidence.program.statement_of(leaf.site)
    inside = (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], (ast.Name, ast.Attribute))
    )
    if not inside or evidence.program.statement_of(node.site) is not statement or leaf.site is statement.value:
        return None
    calls = [part for part in subtree(statement.value) if part is leaf.site]
    return statement if calls and not any(isinstance(p, (ast.Lambda, ast.ListComp)) for p in subtree(statement.value)) else None

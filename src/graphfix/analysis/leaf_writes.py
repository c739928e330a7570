"""Writes in place to leaves that require grad, which torch refuses while it records."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from operator import attrgetter

from graphfix.analysis.evidence import Evidence
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import LeafWrite


def leaf_writes(evidence: Evidence) -> Iterator[list[LeafWrite]]:
    """The writes that are refused in some run, those to one view or leaf together, each statement once; none whose error may be swallowed."""
    program = evidence.program
    found: dict[ast.AST, dict[ast.AST, LeafWrite]] = {}
    for run in filter(attrgetter("is_recorded"), evidence.tape.runs):
        refused: dict[object, ast.AST] = {}  # statements and leaves, each with what it is told with
        for write in run.recording.leaf_writes:
            if program.holds(write.site) and not evidence.swallows(write.site):
                statement = program.statement_of(write.site)
                view = view_of(write)
                apart = view is not None and program.holds(view.site) and program.statement_of(view.site) is not statement
                first: ast.AST = view.site if view is not None and apart else statement
                # a tensor that has been written to is what that write made
                first = refused.get(write.leaf if write.leaf.is_flagged else program.statement_of(first), first)
                refused.setdefault(statement, first)
                refused.setdefault(write.leaf, first)
                found.setdefault(first, {}).setdefault(statement, write)
    for writes in found.values():
        yield list(writes.values())


def view_of(write: LeafWrite) -> Node | None:
    """The view of the leaf itself, where views of that one are written to; None where it is the leaf, or an item of it in the very statement."""
    node = write.node
    while node is not None and write.leaf not in node.leaves and node.parents:
        node = node.parents[0]
    return node

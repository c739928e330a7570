"""Give statements that share a line their own lines, so that others can be put between them."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise
from typing import Any

from graphfix.model import Delete, Fix, InsertAfter, InsertBefore, Move, Operation, Span, Wrap
from graphfix.rewrite.changes import Change, shifted
from graphfix.rewrite.layout import Layout


def spread(layout: Layout, fix: Fix) -> list[Change]:
    """The changes that put each statement of the lines that `fix` works on, on its own line."""
    changes: dict[int, list[Change]] = {}
    for node in _crowded(layout, fix):
        group = layout.group(node)
        changes.setdefault(layout.start(group[0]), _spread_group(layout, group))
    return [change for group_changes in changes.values() for change in group_changes]


def _crowded(layout: Layout, fix: Fix) -> list[ast.stmt]:
    nodes = [node for operation in fix.operations for node in _neighbours(layout, operation)]
    gone = [layout.statement(op.span) for op in fix.operations if isinstance(op, Delete)]
    starts = [layout.start(layout.group(node)[0]) for node in gone]
    nodes += [node for node, start in zip(gone, starts, strict=True) if starts.count(start) > 1]
    return [node for node in nodes if not layout.alone(node)]


def _neighbours(layout: Layout, operation: Operation) -> list[ast.stmt]:
    """The statements beside which lines will be put."""
    if isinstance(operation, (InsertBefore, InsertAfter)):
        return [layout.statement(operation.span)]
    if isinstance(operation, Move):
        return [layout.statement(operation.span), layout.statement(operation.before)]
    if isinstance(operation, Wrap):
        return [layout.statement(span) for span in operation.spans]
    return []


def _spread_group(layout: Layout, group: list[ast.stmt]) -> list[Change]:
    first = group[0]
    start = layout.start(first)
    newline = layout.newline(layout.span(group[-1]).end)
    parent = layout.parents[first]
    changes = []
    if layout.inline(first):
        while not isinstance(parent, ast.stmt):  # a handler or case stands in the columns of its statement
            parent = layout.parents[parent]
        indent = layout.indent(layout.start(parent)) + layout.unit
        colon = layout.data.rfind(b":", 0, start) + 1
        changes.append(Change(colon, start, content=newline + indent))
    else:
        indent = layout.indent(start)
    for before, after in pairwise(group):
        changes.append(Change(layout.span(before).end, layout.start(after), content=newline + indent))
    return changes


def carried(fix: Fix, changes: list[Change]) -> Fix:
    """The fix with its spans where they stand after the changes."""
    return replace(fix, operations=tuple(_carried(operation, changes) for operation in fix.operations))


def _carried(operation: Operation, changes: list[Change]) -> Operation:
    def moved(value: Any) -> Any:
        if isinstance(value, Span):
            return Span(shifted(value.start, changes), shifted(value.end, changes))
        return tuple(moved(item) for item in value) if isinstance(value, tuple) else value

    names = operation.__dataclass_fields__
    return type(operation)(**{name: moved(getattr(operation, name)) for name in names})

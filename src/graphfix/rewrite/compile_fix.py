"""From a fix to byte changes: the operations that make up a fix, put together."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import combinations

from graphfix.lazy_dataclass import dataclass
from graphfix.model import (
    AddArgument,
    Append,
    Decorate,
    Delete,
    Fix,
    InsertAfter,
    InsertBefore,
    Move,
    Operation,
    RemoveArgument,
    Replace,
    Span,
    Wrap,
)
from graphfix.rewrite import expressions, statements
from graphfix.rewrite.changes import Change, overlap, splice, trimmed
from graphfix.rewrite.layout import Layout, RefusedError
from graphfix.rewrite.suites import carried, spread


@dataclass(frozen=True)
class Part:
    """The changes of operations that belong together; equal parts of two fixes merge."""

    operations: tuple[Operation, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Compiled:
    """A fix as changes of the original text. `removed`: statements that it takes from their block."""

    parts: tuple[Part, ...]
    removed: tuple[ast.stmt, ...] = ()

    @property
    def changes(self) -> list[Change]:
        return [change for part in self.parts for change in part.changes]


def compile_fix(layout: Layout, fix: Fix) -> Compiled:
    """What the fix changes; raises `RefusedError` where it cannot be done as a whole."""
    if not fix.operations:
        raise RefusedError("the fix has no operations")
    spreading = spread(layout, fix)
    if spreading:
        return _compile_spread(layout, fix, spreading)
    removed = _removed(layout, fix)
    parts = _parts(layout, fix, removed)
    for first, second in combinations([change for part in parts for change in part.changes], 2):
        if overlap(first, second):
            raise RefusedError("the operations of the fix overlap")
    return Compiled(tuple(parts), tuple(removed))


def _compile_spread(layout: Layout, fix: Fix, spreading: list[Change]) -> Compiled:
    """Statements get their own lines first; what comes out is one change of the original."""
    text = splice(layout.data, spreading).decode("utf-8", "surrogatepass")
    wide = Layout(text)
    moved = carried(fix, spreading)
    if spread(wide, moved):
        raise RefusedError("the statement shares its line with another")
    made = splice(wide.data, compile_fix(wide, moved).changes)
    part = Part(fix.operations, tuple(trimmed(0, layout.data, made)))
    return Compiled((part,), tuple(_removed(layout, fix)))


def _removed(layout: Layout, fix: Fix) -> list[ast.stmt]:
    """Statements that are deleted, or that leave their block."""
    found = []
    for operation in dict.fromkeys(fix.operations):
        if isinstance(operation, Delete):
            if _exchanged(fix, operation.span) is None:
                found.append(layout.statement(operation.span))
        elif isinstance(operation, Move):
            node = layout.statement(operation.span)
            if layout.statement(operation.before) not in layout.blocks[node]:
                found.append(node)
    return found


def _exchanged(fix: Fix, span: Span) -> InsertBefore | None:
    """The one line that takes the place of the statement at `span`, which is deleted."""
    lines = [operation for operation in fix.operations if isinstance(operation, InsertBefore) and operation.span == span]
    return lines[0] if len(lines) == 1 and Delete(span) in fix.operations and "\n" not in lines[0].text else None


def _exchange(layout: Layout, fix: Fix, operation: Delete) -> Part:
    """A statement for a statement: what stands beside it on its line stays there."""
    line = _exchanged(fix, operation.span)
    assert line is not None
    span = layout.span(layout.statement(operation.span))
    if layout.comments(span.start, span.end):
        raise RefusedError("there is a comment inside the replaced statement")
    return Part((line, operation), (Change(span.start, span.end, content=line.text.encode()),))


def _fills(layout: Layout, node: ast.stmt, removed: Sequence[ast.stmt]) -> bool:
    """The first statement of a block that loses all of them becomes `pass`, or goes with its `else`."""
    block = layout.blocks[node]
    return block[0] is node and not isinstance(layout.parents[node], ast.Module) and all(n in removed for n in block)


def _parts(layout: Layout, fix: Fix, removed: Sequence[ast.stmt]) -> list[Part]:
    parts: list[Part] = []
    calls: dict[Span, list[expressions.Argument]] = {}
    moves: list[tuple[int, Move]] = []
    for order, operation in enumerate(dict.fromkeys(fix.operations)):
        if isinstance(operation, (AddArgument, RemoveArgument)):
            calls.setdefault(operation.span, []).append(operation)
        elif isinstance(operation, Move):
            moves.append((order, operation))
        elif isinstance(operation, (InsertBefore, Delete)) and _exchanged(fix, operation.span) is not None:
            if isinstance(operation, Delete):
                parts.append(_exchange(layout, fix, operation))
        elif isinstance(operation, Delete):
            node = layout.statement(operation.span)
            keeps_lines = any(isinstance(each, (Wrap, InsertBefore, InsertAfter, Move)) for each in fix.operations)
            changes = statements.delete(layout, node, _fills(layout, node, removed), keeps_lines)
            parts.append(Part((operation,), tuple(changes)))
        else:
            parts.append(Part((operation,), tuple(_changes(layout, operation, order))))
    for group in calls.values():
        parts.append(Part(tuple(group), tuple(expressions.arguments(layout, group))))
    for order, operation in moves:
        parts = _with_move(layout, operation, order, parts, removed)
    return parts


def _with_move(layout: Layout, operation: Move, order: int, parts: list[Part], removed: Sequence[ast.stmt]) -> list[Part]:
    """A moved statement takes along what the same fix changes inside of it."""
    node = layout.statement(operation.span)
    span = Span(layout.start(node), layout.span(node).end)
    within = [part for part in parts if _inside(part, span)]
    inner = [change for part in within for change in part.changes]
    changes = statements.move(layout, operation, _fills(layout, node, removed), inner, order)
    operations = (operation, *(op for part in within for op in part.operations))
    return [part for part in parts if part not in within] + [Part(operations, tuple(changes))]


def _inside(part: Part, span: Span) -> bool:
    is_expression = isinstance(part.operations[0], (Append, Replace, AddArgument, RemoveArgument))
    return is_expression and all(span.start <= c.start and c.end <= span.end for c in part.changes)


def _changes(layout: Layout, operation: Operation, order: int) -> list[Change]:
    if isinstance(operation, (InsertBefore, InsertAfter)):
        insert: Callable[..., list[Change]] = (
            statements.insert_before if isinstance(operation, InsertBefore) else statements.insert_after
        )
        return insert(layout, operation, order)
    if isinstance(operation, Append):
        return expressions.append(layout, operation)
    if isinstance(operation, Replace):
        return expressions.replace(layout, operation)
    if isinstance(operation, Wrap):
        return statements.wrap(layout, operation)
    assert isinstance(operation, Decorate)
    return statements.decorate(layout, operation)

"""Operations on statements that have their lines to themselves (`suites` sees to that), by lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from graphfix.model import Decorate, Delete, InsertAfter, InsertBefore, Move, Span, Wrap
from graphfix.rewrite.changes import AFTER, BEFORE, HEADER, Change, splice
from graphfix.rewrite.layout import UNPARSABLE, Layout, RefusedError, parse

_ELSE = re.compile(rb"[ \t]*else[ \t]*:[ \t]*(?:\r\n|\r|\n)[ \t]*")


def _lines(layout: Layout, text: str, at: ast.stmt, place: int) -> bytes:
    """Statements without indentation as lines at the indentation of `at`, with the newlines of `place`."""
    try:
        tree = parse(text)
    except UNPARSABLE:
        raise RefusedError("the inserted text is not a statement") from None
    kept = {line for node in tree.body for line in layout.string_lines(node)}
    indent, newline = layout.indent(layout.start(at)), layout.newline(place)
    made = []
    for number, line in enumerate(text.strip("\n").splitlines()):
        blanks = len(line) - len(line.lstrip(" "))
        inner = line.lstrip(" ").encode() if number not in kept else line.encode()
        levels = layout.unit * (blanks // 4) + b" " * (blanks % 4)
        made.append((b"" if not line or number in kept else indent + levels) + inner + newline)
    return b"".join(made)


def insert_before(layout: Layout, operation: InsertBefore, order: int) -> list[Change]:
    node = layout.statement(operation.span)
    place = layout.leading(node)
    return [Change(place, place, (BEFORE, order), _lines(layout, operation.text, node, layout.start(node)))]


def insert_after(layout: Layout, operation: InsertAfter, order: int) -> list[Change]:
    node = layout.statement(operation.span)
    return [_behind(layout, node, _lines(layout, operation.text, node, layout.span(node).end), order)]


def _behind(layout: Layout, node: ast.stmt, lines: bytes, order: int) -> Change:
    place = layout.next_line(layout.span(node).end)
    if place == layout.line_end(layout.span(node).end):  # the file ends without a newline
        newline = layout.newline(place)
        lines = newline + lines.removesuffix(newline)
    return Change(place, place, (AFTER, order), lines)


def decorate(layout: Layout, operation: Decorate) -> list[Change]:
    node = layout.statement(operation.span)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        raise RefusedError("only a function or class takes a decorator")
    start = layout.span(node).start if operation.inside else layout.start(node)
    line = b"@" + operation.text.lstrip("@").encode() + layout.newline(start) + layout.indent(start)
    return [Change(start, start, (HEADER, 0), line)]


def wrap(layout: Layout, operation: Wrap) -> list[Change]:
    nodes = [layout.statement(span) for span in operation.spans]
    block = layout.blocks[nodes[0]]
    first = block.index(nodes[0])
    if nodes != block[first : first + len(nodes)]:
        raise RefusedError("the statements to wrap are not adjacent")
    start = layout.start(nodes[0])
    indent = layout.indent(start)
    header = operation.header.encode() + layout.newline(start) + indent + layout.unit
    changes = [Change(start, start, (HEADER, 0), header)]
    kept = {line for node in nodes for line in layout.string_lines(node)}
    for line in range(layout.line(start) + 1, layout.line(layout.span(nodes[-1]).end) + 1):
        place = _after_indent(layout, line, indent)
        blank = place >= layout.line_end(place) or not layout.data[place : layout.line_end(place)].strip()
        if line not in kept and not blank:
            changes.append(Change(place, place, (HEADER, 0), layout.unit))
    return changes


def _after_indent(layout: Layout, line: int, indent: bytes) -> int:
    """Behind the block's indentation, or where the line starts; a form feed starts the columns again."""
    start = layout.starts[line]
    end = layout.line_end(start)
    blanks = layout.data[start:end]
    blanks = blanks[: len(blanks) - len(blanks.lstrip(b" \t\f"))]
    start += blanks.rfind(b"\f") + 1
    return start + len(indent) if layout.data.startswith(indent, start) else start


def _comment_lines(layout: Layout, node: ast.stmt) -> tuple[list[bytes], int]:
    """The comments in and behind a statement, and where its last line ends."""
    span = layout.span(node)
    after, end = layout.after(node), layout.line_end(span.end)
    tail = layout.data[after:end]
    return _inner_comments(layout, node) + ([tail.rstrip()] if tail.startswith(b"#") else []), layout.next_line(span.end)


def _inner_comments(layout: Layout, node: ast.stmt) -> list[bytes]:
    found = layout.comments(layout.start(node), layout.span(node).end)
    if found and (hasattr(node, "body") or hasattr(node, "cases")):
        raise RefusedError("there is a comment inside the deleted block")
    return found


def delete(layout: Layout, node: ast.stmt, fill: bool, keeps_lines: bool) -> list[Change]:
    """Take a statement away; its comments stay.

    `fill`: nothing else is left in its block; an `else` goes with it, unless the same fix puts lines there or below a header (`keeps_lines`).
    """
    span, start = layout.span(node), layout.start(node)
    if not layout.alone(node):
        return _delete_from_line(layout, node, fill)
    opening = _else_line(layout, node) if fill and not keeps_lines else None
    if opening is not None and not _comment_lines(layout, node)[0]:
        return [Change(opening, layout.next_line(span.end))]
    if fill:
        newline = layout.newline(start) + layout.indent(start)
        lead = b"".join(comment + newline for comment in _inner_comments(layout, node))
        return [Change(start, span.end, content=lead + b"pass")]
    kept, end = _comment_lines(layout, node)
    lines = [layout.indent(start) + comment + layout.newline(start) for comment in kept]
    return [Change(layout.line_start(start), end, content=b"".join(lines))]


def _else_line(layout: Layout, first: ast.stmt) -> int | None:
    """Where the line begins that is nothing but the `else:` right above a statement, the first of its block; None without one."""
    if getattr(layout.parents[first], "orelse", None) is not layout.blocks[first]:
        return None
    opening = layout.line_start(layout.line_start(layout.start(first)) - 1)
    return opening if _ELSE.fullmatch(layout.data, opening, layout.start(first)) else None


def _delete_from_line(layout: Layout, node: ast.stmt, fill: bool) -> list[Change]:
    span = layout.span(node)
    if layout.comments(span.start, span.end):
        raise RefusedError("there is a comment inside the deleted statement")
    if fill:
        return [Change(span.start, span.end, content=b"pass")]
    group = layout.group(node)
    position = group.index(node)
    if position:
        return [Change(layout.span(group[position - 1]).end, span.end)]
    return [Change(span.start, layout.start(group[1]))]


def move(layout: Layout, operation: Move, fill: bool, inner: Sequence[Change], order: int) -> list[Change]:
    """Delete and insert; `inner` are the changes that the same fix makes inside of the statement."""
    node, target = layout.statement(operation.span), layout.statement(operation.before)
    if _holds(layout.span(node), operation.before):
        raise RefusedError("a statement cannot move into itself")
    start, place = layout.start(node), layout.leading(target)
    begin = layout.leading(node)
    end = layout.next_line(layout.span(node).end)
    if place in (begin, end):  # it stands there already
        return list(inner)
    moved = splice(layout.data[begin:end], [_relative(change, begin) for change in inner])
    if not moved.endswith((b"\n", b"\r")):
        moved += layout.newline(start)
    moved = _reindented(layout, node, begin, moved, layout.indent(layout.start(target)), bool(inner))
    gone = _filled(layout, node, begin) if fill else [Change(begin, end)]
    return [*gone, Change(place, place, (BEFORE, order), moved)]


def _filled(layout: Layout, node: ast.stmt, begin: int) -> list[Change]:
    start = layout.start(node)
    return [Change(begin, layout.line_end(layout.span(node).end), content=layout.indent(start) + b"pass")]


def _relative(change: Change, begin: int) -> Change:
    return Change(change.start - begin, change.end - begin, change.rank, change.content)


def _reindented(layout: Layout, node: ast.stmt, begin: int, moved: bytes, new: bytes, changed: bool) -> bytes:
    old = layout.indent(layout.start(node))
    if old == new:
        return moved
    first = layout.line(begin)
    kept = {line - first for line in layout.string_lines(node)}
    if kept and changed:
        raise RefusedError("the moved statement contains a multi-line string")
    lines = moved.splitlines(keepends=True)
    return b"".join(
        new + line[len(old) :] if number not in kept and line.startswith(old) and line.strip() else line
        for number, line in enumerate(lines)
    )


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


StatementOperation = InsertBefore | InsertAfter | Delete | Move | Wrap | Decorate

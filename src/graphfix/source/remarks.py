"""What the comments at a statement say."""

from __future__ import annotations

import ast

from graphfix.source.document import Document


def remarks(document: Document, statement: ast.stmt) -> set[str]:
    """The comment behind a statement, and those in the lines right above it."""
    rows = [row.strip() for row in _rows(document, statement)]
    above = rows[:-1]
    first = max((number for number, row in enumerate(above, 1) if not row.startswith("#")), default=0)
    return {row for row in (*above[first:], rows[-1]) if row.startswith("#")}


def _rows(document: Document, statement: ast.stmt) -> list[str]:
    """The lines of a file before a statement, and what stands behind it on its own last one."""
    end = document.span(statement).end
    starts = document.lines.starts
    before = zip(starts, starts[1 : statement.lineno])
    behind = document.data[end : starts[statement.end_lineno] if statement.end_lineno < len(starts) else None]  # type: ignore[operator,index]
    parts = (*(document.data[start:stop] for start, stop in before), behind)
    return [part.decode("utf-8", "surrogatepass") for part in parts]

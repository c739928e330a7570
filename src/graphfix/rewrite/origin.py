"""Where a line of a repaired text came from."""

from __future__ import annotations

import difflib
import functools
import os

from graphfix.model import Span
from graphfix.source.lines import NEWLINE


def original_row(before: str, after: str, row: int) -> int:
    """The 1-based line of `before` that the line `row` of `after` is, or that stands where it was put in."""
    if before == after:
        return row
    for tag, a, b, c, d in _opcodes(before, after):
        if c < row <= d:
            return a + row - c if tag == "equal" else min(a + row - c, max(b, a + 1))
    return row


@functools.lru_cache(maxsize=4)
def _opcodes(before: str, after: str) -> list[tuple[str, int, int, int, int]]:
    """How the lines differ: asked for each finding of a file, and slow where many lines are alike."""
    return difflib.SequenceMatcher(None, NEWLINE.split(before), NEWLINE.split(after), autojunk=False).get_opcodes()


def original_span(before: str, after: str, span: Span) -> Span:
    """The bytes of `before` that the bytes of `after` at `span` are, or that stand in their place."""
    if before == after:
        return span
    start = _original_offset(before, after, span.start)
    return Span(start, max(start, _original_offset(before, after, span.end)))


def _original_offset(before: str, after: str, offset: int) -> int:
    old, new = (text.encode("utf-8", "surrogatepass").splitlines(keepends=True) for text in (before, after))
    passed = 0
    for row, line in enumerate(new, start=1):
        if offset < passed + len(line) or row == len(new):
            was = original_row(before, after, row)
            return sum(map(len, old[: was - 1])) + _original_column(
                old[was - 1] if was <= len(old) else b"", line, offset - passed
            )
        passed += len(line)
    return 0


def _original_column(old: bytes, new: bytes, column: int) -> int:
    """Where a column of a line was before the part in which the lines differ was replaced."""
    same = len(os.path.commonprefix([old, new]))
    if column <= same:
        return column
    end = len(os.path.commonprefix([old[:same:-1], new[:same:-1]]))
    return max(same, len(old) - (len(new) - column)) if len(new) - column <= end else same

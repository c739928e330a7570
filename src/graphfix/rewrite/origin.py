"""Where a line of a repaired text came from."""

from __future__ import annotations

import difflib

from graphfix.source import NEWLINE


def original_row(before: str, after: str, row: int) -> int:
    """The 1-based line of `before` that the line `row` of `after` is, or that stands where it was put in."""
    if before == after:
        return row
    matcher = difflib.SequenceMatcher(None, NEWLINE.split(before), NEWLINE.split(after), autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if c < row <= d:
            return a + row - c if tag == "equal" else min(a + row - c, max(b, a + 1))
    return row

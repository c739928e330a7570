"""Where the strings of code that is not parsed stand: passed by hand where a pattern would take memory for each character."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

# No way back is kept for any of the escapes, which is memory for each, where Python has a form for that (3.11):
# https://docs.python.org/3/library/re.html#regular-expression-syntax
_ALL = "*+" if sys.version_info >= (3, 11) else "*"
# comments and strings of one line
SHORT = (
    r"#[^\r\n]*"
    rf"|'(?!'')[^\\'\r\n]*(?:\\.[^\\'\r\n]*){_ALL}'|\"(?!\"\")[^\\\"\r\n]*(?:\\.[^\\\"\r\n]*){_ALL}\""
)
_TEXT = re.compile(rf"{SHORT}|('''|\"\"\")", re.DOTALL)


def texts(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where each comment and string begins and ends, and whether three quotes enclose it; one that is left open ends behind the text."""
    at = 0
    while match := _TEXT.search(text, at):
        start, at = match.span()
        is_long = match[1] is not None
        if is_long:
            at = _end(text, match[1], at)
        yield start, at, is_long


def _end(text: str, quotes: str, at: int) -> int:
    """Where the string ends whose content begins at `at`."""
    while (end := text.find(quotes, at)) >= 0:
        before = end
        while before > at and text[before - 1] == "\\":
            before -= 1
        if (end - before) % 2 == 0:
            return end + len(quotes)
        at = end + 1
    return len(text) + 1

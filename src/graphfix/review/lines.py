"""The lines of a text that a fix touches, as an editor is given them and gives them back."""

from __future__ import annotations

import difflib

from graphfix.lazy_dataclass import dataclass
from graphfix.source.lines import NEWLINE

_AROUND = 3


@dataclass(frozen=True)
class Region:
    """Lines from `row` (0-based) on: what they were, and what the fix makes of them."""

    row: int
    old: str
    new: str


def lines_of(text: str) -> list[str]:
    """The lines with their newlines, counted as Python counts them."""
    ends = [match.end() for match in NEWLINE.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def region(before: str, after: str) -> Region:
    """The lines that differ, with some around them."""
    old, new = lines_of(before), lines_of(after)
    head = _same(old, new)
    tail = min(_same(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    first, tail = max(head - _AROUND, 0), max(tail - _AROUND, 0)
    return Region(first, "".join(old[first : len(old) - tail]), "".join(new[first : len(new) - tail]))


def _same(first: list[str], second: list[str]) -> int:
    for position, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return position
    return min(len(first), len(second))


def put(text: str, row: int, old: str, new: str) -> str | None:
    """`text` with the lines `old` replaced, at `row` or at the only other place where they stand; None where there is none."""
    start = len("".join(lines_of(text)[:row]))
    if not text.startswith(old, start):
        if not old or text.count(old) != 1:
            return None
        start = text.index(old)
    return text[:start] + new + text[start + len(old) :]


def plain(text: str) -> str:
    """`text` with one kind of newline, for an editor or a terminal."""
    return NEWLINE.sub("\n", text)


def as_written(given: str, edited: str, newline: str) -> str:
    """What an editor made of `plain(given)`, with the newlines that lines had which it left alone, else with `newline`."""
    old, new = lines_of(given), lines_of(plain(edited))
    if old and new and not old[-1].endswith(("\n", "\r")) and new[-1].endswith("\n"):
        new[-1] = new[-1][:-1]  # editors end the last line of a file
    made: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, [plain(line) for line in old], new, autojunk=False).get_opcodes():
        made += old[a:b] if tag == "equal" else [line.replace("\n", newline) for line in new[c:d]]
    return "".join(made)

"""The line on which a TOML file sets a key.

The readers in the standard library keep no places, so the reader itself is asked: the text, cut off in front of a statement,
holds the key or does not yet hold it. Cut inside of a statement, it does not parse.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from graphfix.settings.toml import BadToml, loads

_KEY = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
# what a statement begins with; a line of a longer value may do so, too
_TRIES = 50  # cuts inside of one long value: where more fail, the nearest row before it has to do
_GUESSES = 4  # statements that name the key and are asked first
_STATEMENT = re.compile(rf"[ \t]*(?:\[|{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*[ \t]*=)")


def row_of(text: str, path: Sequence[str | int]) -> int:
    """The 1-based row of the statement that first sets the key at `path` in `text`, which parses and holds it.

    A number in `path` stands for the item of a list.
    """
    lines = text.split("\n")
    cuts = [number for number, line in enumerate(lines) if _STATEMENT.match(line)]
    # between the two lies the statement: the text up to the first lacks the key, the text up to the second holds it
    first, last = _bounds(text, lines, cuts, path)
    while True:
        number, holds = _tried(lines, cuts, first, last, path)
        if number is None:
            return (cuts[first] if cuts else 0) + 1
        first, last = (first, number) if holds else (number, last)


def rows_of_tables(text: str, path: Sequence[str | int]) -> list[int]:
    """The rows of the headers by which the tables of the list at `path` begin; none where it is written in brackets."""
    names = r"[ \t]*\.[ \t]*".join(f"[\"']?{re.escape(str(part))}[\"']?" for part in path)
    header = re.compile(rf"[ \t]*\[\[[ \t]*{names}[ \t]*\]\]")
    begun = [row for row, line in enumerate(text.split("\n"), 1) if header.match(line)]
    # inside of a longer text a line may look like one
    return begun if begun and _holds(loads(text), (*path, len(begun) - 1)) and not _holds(loads(text), (*path, len(begun))) else []


def _bounds(text: str, lines: list[str], cuts: list[int], path: Sequence[str | int]) -> tuple[int, int]:
    """Two cuts around the statement, as near as the lines tell: each halving reads the text anew."""
    at = next((place for place, part in enumerate(path) if isinstance(part, int)), None)
    if at is None:
        named = [place for place, cut in enumerate(cuts) if str(path[-1]) in lines[cut]]
        for place in named[:_GUESSES]:
            if _tried(lines, cuts, place - 1, place + 1, path) == (place, False) and _holds_behind(lines, cuts, place, path):
                return place, place + 1
        return 0, len(cuts)
    begun = [bisect_left(cuts, row - 1) for row in rows_of_tables(text, path[:at])]
    if not begun:
        return 0, len(cuts)
    number = int(path[at])
    if at + 1 == len(path):
        return begun[number], begun[number] + 1
    return begun[number], (*begun, len(cuts))[number + 1]


def _holds_behind(lines: list[str], cuts: list[int], place: int, path: Sequence[str | int]) -> bool:
    """Whether the text up to the cut behind `place` parses and holds the key."""
    end = cuts[place + 1] if place + 1 < len(cuts) else len(lines)
    try:
        return _holds(loads("\n".join(lines[:end])), path)
    except BadToml:
        return False


def _tried(lines: list[str], cuts: list[int], first: int, last: int, path: Sequence[str | int]) -> tuple[int | None, bool]:
    """A cut strictly between the two that parses, as near to the middle as can be, and whether the key is held there."""
    middle = (first + last) // 2
    behind, before = range(max(middle, first + 1), last), range(min(middle, last) - 1, first, -1)
    between = range(first + 1, last)
    for number in (*behind[:_TRIES], *before[:_TRIES], *between[:_TRIES], *between[-_TRIES:]):
        try:
            return number, _holds(loads("\n".join(lines[: cuts[number]])), path)
        except BadToml:
            continue
    return None, False


def _holds(value: object, path: Sequence[str | int]) -> bool:
    for part in path:
        if isinstance(part, int) and isinstance(value, list) and part < len(value):
            value = value[part]
            continue
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True

"""The line on which a TOML file sets a key.

The readers in the standard library keep no places, so the reader itself is asked: the text, cut off in front of a statement,
holds the key or does not yet hold it. Cut inside of a statement, it does not parse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphfix.settings.toml import BadToml, loads

_KEY = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
# what a statement begins with; a line of a longer value may do so, too
_TRIES = 50  # cuts inside of one long value: where more fail, the nearest row before it has to do
_STATEMENT = re.compile(rf"[ \t]*(?:\[|{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*[ \t]*=)")


def row_of(text: str, path: Sequence[str | int]) -> int:
    """The 1-based row of the statement that first sets the key at `path` in `text`, which parses and holds it.

    A number in `path` stands for the item of a list.
    """
    lines = text.split("\n")
    cuts = [number for number, line in enumerate(lines) if _STATEMENT.match(line)]
    # between the two lies the statement: the text up to the first lacks the key, the text up to the second holds it
    first, last = 0, len(cuts)
    while True:
        number, holds = _tried(lines, cuts, first, last, path)
        if number is None:
            return (cuts[first] if cuts else 0) + 1
        first, last = (first, number) if holds else (number, last)


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

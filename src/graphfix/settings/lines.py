"""The line on which a TOML file sets a key.

The readers in the standard library keep no places, so the reader itself is asked: the key's statement ends at the first line
with which the text, cut off there, holds the key. Cut inside of a statement, the text does not parse.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphfix.settings.toml import BadToml, loads


def row_of(text: str, path: Sequence[str]) -> int:
    """The 1-based row of the statement that first sets the key at `path` in `text`, which parses and holds it."""
    lines = text.split("\n")
    without, held = 0, len(lines)
    while True:
        cut = _cut(lines, without, held)
        if cut is None:
            return without + 1
        row, holds = cut[0], _holds(cut[1], path)
        without, held = (without, row) if holds else (row, held)


def _cut(lines: list[str], low: int, high: int) -> tuple[int, object] | None:
    """A row strictly between the two after which the text may be cut, as near to the middle as can be, and what it then holds."""
    middle = (low + high) // 2
    for row in (*range(middle, high), *range(middle - 1, low, -1)):
        if row <= low:
            continue
        try:
            return row, loads("\n".join(lines[:row]))
        except BadToml:
            continue
    return None


def _holds(value: object, path: Sequence[str]) -> bool:
    for part in path:
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True

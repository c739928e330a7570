"""Places in a text, as users count them."""

from __future__ import annotations

import re
from bisect import bisect_right

NEWLINE = re.compile(r"\r\n|\r|\n")


def shown_cell(cell: int | None) -> str:
    """`cell 4:` for a place in a notebook."""
    return "" if cell is None else f"cell {cell + 1}:"


class LineIndex:
    """Converts UTF-8 byte offsets of one text to 1-based (row, column in code points) and back.

    `starts`: where each line begins.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = text if text.isascii() else text.encode("utf-8", "surrogatepass")
        starts = [0]
        if isinstance(self._data, str):
            starts += [match.end() for match in NEWLINE.finditer(self._data)]
        else:
            starts += [match.end() for match in re.finditer(rb"\r\n|\r|\n", self._data)]
        self.starts = starts

    @property
    def rows(self) -> int:
        """How many lines there are; a final newline opens one more, which is empty."""
        return len(self.starts)

    def place(self, offset: int) -> tuple[int, int]:
        """The 1-based row and column of the byte `offset`."""
        row = bisect_right(self.starts, offset)
        start = self.starts[row - 1]
        return row, len(self._slice(start, offset)) + 1

    def cell(self, offset: int) -> int | None:
        """The 0-based number of the notebook's cell that holds the byte `offset`; None in any other file."""
        return None

    def where(self, offset: int) -> str:
        """The place of the byte `offset` as a user reads it, with cells counted from 1 as in ruff."""
        row, column = self.place(offset)
        return f"{shown_cell(self.cell(offset))}{row}:{column}"

    def line_at(self, offset: int) -> str:
        """The text of the line that holds the byte `offset`, without its newline."""
        return self.line(bisect_right(self.starts, offset))

    def offset(self, row: int, column: int) -> int:
        """The byte offset of the 1-based `row` and `column`."""
        start = self.starts[row - 1]
        return start + len(self.raw_line(row)[: column - 1].encode("utf-8", "surrogatepass"))

    def line(self, row: int) -> str:
        """The text of the line `row` without its newline."""
        return self.raw_line(row).rstrip("\r\n")

    def raw_line(self, row: int) -> str:
        """The text of the line `row` with its newline."""
        end = self.starts[row] if row < len(self.starts) else len(self._data)
        return self._slice(self.starts[row - 1], end)

    def _slice(self, start: int, end: int) -> str:
        part = self._data[start:end]
        return part if isinstance(part, str) else part.decode("utf-8", "replace")

"""Places in files as other programs count them: columns in code points, UTF-16 units or bytes, rows of the file itself."""

from __future__ import annotations

from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Span
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex
from graphfix.source.text import Source


@dataclass(frozen=True)
class Point:
    """A 1-based row and the text before the place on it; None where a column would mean nothing."""

    row: int
    before: str | None

    @property
    def column(self) -> int:
        """The 1-based column in code points."""
        return len(self.before or "") + 1

    @property
    def utf16(self) -> int:
        """The 1-based column in UTF-16 code units."""
        return len((self.before or "").encode("utf-16-le", "surrogatepass")) // 2 + 1

    @property
    def utf8(self) -> int:
        """The 1-based column in UTF-8 bytes."""
        return len((self.before or "").encode("utf-8", "surrogatepass")) + 1


@dataclass(frozen=True)
class Region:
    """From one point to another; in a notebook rows are those of the JSON file, and there are no columns."""

    start: Point
    end: Point
    cell: int | None = None


class Files:
    """The file with the findings, and the others that their stories lead into."""

    def __init__(self, source: Source) -> None:
        self._sources: dict[str, Source | None] = {str(source.path): source}
        self._indexes: dict[str, tuple[LineIndex, LineIndex]] = {}

    def region(self, path: str, span: Span) -> Region | None:
        """Where `span` of the file at `path` is; None if that file cannot be read."""
        source = self._source(path)
        if source is None:
            return None
        if path not in self._indexes:
            self._indexes[path] = (LineIndex(source.text), source.index())
        lines, shown = self._indexes[path]
        cell = shown.cell(span.start)
        if cell is not None:
            return Region(_in_json(source, shown, span.start), _in_json(source, shown, max(span.start, span.end - 1)), cell)
        return Region(_point(lines, span.start), _point(lines, span.end))

    def text_of(self, path: str) -> str:
        """The text of the file at `path`, empty if it cannot be read."""
        source = self._source(path)
        return source.text if source is not None else ""

    def _source(self, path: str) -> Source | None:
        if path not in self._sources:
            try:
                self._sources[path] = read(Path(path))
            except SourceError:
                self._sources[path] = None
        return self._sources[path]


def _point(lines: LineIndex, offset: int) -> Point:
    row, column = lines.place(offset)
    return Point(row, lines.raw_line(row)[: column - 1])


def _in_json(source: Source, shown: LineIndex, offset: int) -> Point:
    """The row of the notebook's JSON text that holds the line of a cell."""
    from graphfix.source.notebook import Notebook

    assert isinstance(source, Notebook)
    cell, (row, _) = shown.cell(offset), shown.place(offset)
    assert cell is not None
    ended = 0
    start = source.cells[cell].start
    for literal in source.cells[cell].literals:
        start = literal.start
        ended += literal.value.count("\n")
        if ended >= row:
            break
    return Point(source.json.count("\n", 0, start) + 1, None)

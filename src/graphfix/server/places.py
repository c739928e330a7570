"""Places as clients name them: URIs, and lines and characters from 0."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from lsprotocol.types import Location, Position, PositionEncodingKind, Range

from graphfix.model import Span
from graphfix.report.places import Files, Point
from graphfix.source.lines import NEWLINE
from graphfix.source.notebook import Notebook
from graphfix.source.text import Source

# how many units of the client's count lie before a place on its line
_BEFORE: Mapping[str, Callable[[Point], int]] = {
    PositionEncodingKind.Utf8: lambda point: point.utf8 - 1,
    PositionEncodingKind.Utf16: lambda point: point.utf16 - 1,
    PositionEncodingKind.Utf32: lambda point: point.column - 1,
}


def path_of(uri: str) -> Path | None:
    """The file that a URI names, whatever bytes are in its name; None for what is no file."""
    try:
        parts = urlsplit(uri)
        path = unquote_to_bytes(parts.path)
    except ValueError:
        return None
    if parts.scheme != "file" or not path or b"\0" in path:
        return None
    return Path(os.fsdecode(path))


def uri_of(path: str | Path) -> str:
    """The URI of the file at `path`."""
    return "file://" + quote(os.fsencode(os.path.abspath(path)))


def length(text: str, encoding: str) -> int:
    """How many units of the client's count `text` has."""
    return _BEFORE[encoding](Point(1, text))


def offset_of(text: str, position: Position, encoding: str) -> int:
    """Which character of `text` a client means: the end of the line, or of the text, where that is shorter."""
    ends = [0, *(match.end() for match in NEWLINE.finditer(text))]
    if position.line >= len(ends):
        return len(text)
    start = ends[position.line]
    end = NEWLINE.search(text, start)
    line = text[start : end.start() if end is not None else len(text)]
    column = 0
    while column < len(line) and length(line[:column], encoding) < position.character:
        column += 1
    return start + column


class Places:
    """Where things are in what was examined as `source`, and in the files that its stories lead into."""

    def __init__(self, source: Source, encoding: str) -> None:
        self._path = str(source.path)
        self._files = Files(source)
        self._before = _BEFORE[encoding]

    def place(self, span: Span) -> Location:
        """Where `span` of what was examined is."""
        raise NotImplementedError

    def range(self, span: Span) -> Range:
        """The same, without the document."""
        return self.place(span).range

    def location(self, path: str, span: Span) -> Location | None:
        """Where `span` of the file at `path` is; None if that file cannot be read, or is another notebook."""
        if path == self._path:
            return self.place(span)
        region = self._files.region(path, span)
        if region is None or region.cell is not None:
            return None
        return Location(uri_of(path), Range(self._position(region.start), self._position(region.end)))

    def _position(self, point: Point) -> Position:
        return Position(point.row - 1, self._before(point))


class ModulePlaces(Places):
    """Places in the document `uri`, a module. `marked`: it begins with a byte order mark, which `source` has not."""

    def __init__(self, uri: str, source: Source, encoding: str, *, marked: bool) -> None:
        super().__init__(source, encoding)
        self._uri = uri
        self._mark = length("\ufeff", encoding) if marked else 0

    def place(self, span: Span) -> Location:
        region = self._files.region(self._path, span)
        assert region is not None
        return Location(self._uri, Range(self._own(region.start), self._own(region.end)))

    def _own(self, point: Point) -> Position:
        position = self._position(point)
        return Position(position.line, position.character + (self._mark if point.row == 1 else 0))


class CellPlaces(Places):
    """Places in the cells of a notebook, of which `uris` are the documents."""

    def __init__(self, uris: Sequence[str], source: Notebook, encoding: str) -> None:
        super().__init__(source, encoding)
        self._uris = uris
        self._index = source.index()

    def place(self, span: Span) -> Location:
        cell = self._index.cell(span.start)
        assert cell is not None
        return Location(self._uris[cell], Range(self._at(span.start), self._at(span.end)))

    def _at(self, offset: int) -> Position:
        row, column = self._index.place(offset)
        return self._position(Point(row, self._index.line_at(offset)[: column - 1]))

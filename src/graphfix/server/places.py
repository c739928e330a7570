"""Places as clients name them: URIs, and lines and characters from 0."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from lsprotocol.types import Location, Position, PositionEncodingKind, Range

from graphfix.model import Span
from graphfix.report.places import Files, Point
from graphfix.source.text import Source

# how many units of the client's count lie before a place on its line
_BEFORE: Mapping[str, Callable[[Point], int]] = {
    PositionEncodingKind.Utf8: lambda point: point.utf8 - 1,
    PositionEncodingKind.Utf16: lambda point: point.utf16 - 1,
    PositionEncodingKind.Utf32: lambda point: point.column - 1,
}


def path_of(uri: str) -> Path | None:
    """The file that a URI names, whatever bytes are in its name; None for what is no file."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or not parts.path:
        return None
    return Path(os.fsdecode(unquote_to_bytes(parts.path)))


def uri_of(path: str | Path) -> str:
    """The URI of the file at `path`."""
    return "file://" + quote(os.fsencode(os.path.abspath(path)))


def length(text: str, encoding: str) -> int:
    """How many units of the client's count `text` has."""
    return _BEFORE[encoding](Point(1, text))


class Places:
    """Where things are in the document `uri` that holds `source`, and in the files that its stories lead into.

    `encoding`: in which units the client counts. `marked`: the document begins with a byte order mark, which `source` has not.
    """

    def __init__(self, uri: str, source: Source, encoding: str, *, marked: bool) -> None:
        self._uri = uri
        self._path = str(source.path)
        self._files = Files(source)
        self._before = _BEFORE[encoding]
        self._mark = length("\ufeff", encoding) if marked else 0

    def range(self, span: Span) -> Range:
        """Where `span` of the document is."""
        place = self.location(self._path, span)
        assert place is not None
        return place.range

    def location(self, path: str, span: Span) -> Location | None:
        """Where `span` of the file at `path` is; None if that file cannot be read, or is a notebook."""
        region = self._files.region(path, span)
        if region is None or region.cell is not None:
            return None
        own = path == self._path
        uri = self._uri if own else uri_of(path)
        return Location(uri, Range(self._position(region.start, own=own), self._position(region.end, own=own)))

    def _position(self, point: Point, *, own: bool) -> Position:
        shift = self._mark if own and point.row == 1 else 0
        return Position(point.row - 1, self._before(point) + shift)

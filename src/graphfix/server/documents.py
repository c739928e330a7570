"""What an editor holds and graphfix has examined, the one as the other sees it: a module, or the cells of a notebook."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lsprotocol import types as lsp

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit
from graphfix.server.notebooks import Cell
from graphfix.server.places import CellPlaces, ModulePlaces, Places, length
from graphfix.server.readings import Text
from graphfix.source.lines import NEWLINE
from graphfix.source.notebook import Notebook, decode_notebook
from graphfix.source.text import Source

# for each text document its edits
Changes = Mapping[str, Sequence[lsp.TextEdit]]


class Document(Protocol):
    """One of the two."""

    @property
    def path(self) -> Path:
        """The real path of its file."""

    @property
    def places(self) -> Places:
        """Where its findings are."""

    def edited(self, edits: Sequence[Edit]) -> Changes:
        """The edits of a fix."""

    def repaired(self, after: str) -> Changes:
        """What makes `after` of it, what `graphfix apply` would write."""


def document_of(text: Text, source: Source, encoding: str) -> Document:
    """The document with `text`, which was examined as `source`."""
    if isinstance(source, Notebook):
        return Cells(text.cells, source, encoding)
    return Module(text, source, encoding)


@dataclass(frozen=True)
class Module:
    """A text document of its own."""

    text: Text
    source: Source
    encoding: str

    @property
    def path(self) -> Path:
        return Path(os.path.realpath(self.source.path))

    @property
    def places(self) -> Places:
        return ModulePlaces(self.text.uri, self.source, self.encoding, marked=self.text.content.startswith("\ufeff"))

    def edited(self, edits: Sequence[Edit]) -> Changes:
        places = self.places
        return {self.text.uri: [lsp.TextEdit(places.range(edit.span), edit.content) for edit in edits]}

    def repaired(self, after: str) -> Changes:
        return {self.text.uri: list(line_edits(self.text.content, after, self.encoding))}


@dataclass(frozen=True)
class Cells:
    """The cells of a notebook. Edits go by lines: what stands for a command of IPython is that again in the cell."""

    cells: tuple[Cell, ...]
    source: Notebook
    encoding: str

    @property
    def path(self) -> Path:
        return Path(os.path.realpath(self.source.path))

    @property
    def places(self) -> Places:
        return CellPlaces([cell.uri for cell in self.cells], self.source, self.encoding)

    def edited(self, edits: Sequence[Edit]) -> Changes:
        data = self.source.text.encode()
        for edit in sorted(edits, key=lambda one: one.span.start, reverse=True):
            data = data[: edit.span.start] + edit.content.encode() + data[edit.span.end :]
        return self._made(self.source.encode(data.decode()))

    def repaired(self, after: str) -> Changes:
        return self._made(after.encode())

    def _made(self, data: bytes) -> Changes:
        made = decode_notebook(self.source.path, data).cells
        return {
            cell.uri: list(line_edits(cell.content, new.source, self.encoding))
            for cell, new in zip(self.cells, made, strict=True)
            if cell.is_code and cell.content != new.source
        }


def line_edits(before: str, after: str, encoding: str) -> Iterator[lsp.TextEdit]:
    """The lines that differ, so that marks and cursors elsewhere stay."""
    old, new = _lines(before), _lines(after)
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield lsp.TextEdit(
                lsp.Range(_start(old, start, encoding), _start(old, end, encoding)), "".join(new[new_start:new_end])
            )


def _lines(text: str) -> list[str]:
    """The lines with their newlines, as clients count them: what is behind the last newline is one, too."""
    ends = [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]
    return [text[start:end] for start, end in zip(ends, ends[1:])]


def _start(lines: list[str], row: int, encoding: str) -> lsp.Position:
    """Where the line `row` begins; behind the last one, where that ends."""
    if row < len(lines):
        return lsp.Position(row, 0)
    return lsp.Position(len(lines) - 1, length(lines[-1], encoding))

"""The notebooks that are open in the editor, as it tells of them: an ordered list of cells, each a text document.

pygls keeps notebooks, too, but takes a change of a part of a cell for a whole text where the server asked for whole texts of modules;
editors send parts of cells all the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lsprotocol import types as lsp

from graphfix.lazy_dataclass import dataclass
from graphfix.server.places import offset_of


@dataclass(frozen=True)
class Cell:
    """A cell, and the text document that it is."""

    uri: str
    kind: lsp.NotebookCellKind
    language: str = ""
    version: int | None = None
    content: str = ""

    @property
    def is_code(self) -> bool:
        return self.kind == lsp.NotebookCellKind.Code

    def changed(self, changes: Iterable[lsp.TextDocumentContentChangeEvent], version: int, encoding: str) -> Cell:
        """The cell after `changes`, one after the other; places are in units of `encoding`."""
        content = self.content
        for change in changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = offset_of(content, change.range.start, encoding)
                end = offset_of(content, change.range.end, encoding)
                content = content[:start] + change.text + content[end:]
            else:
                content = change.text
        return replace(self, content=content, version=version)


@dataclass(frozen=True)
class OpenNotebook:
    """One state of a notebook."""

    uri: str
    version: int
    cells: tuple[Cell, ...]

    @property
    def json(self) -> str:
        """A file with these cells: what else is in that of the notebook has no part in findings."""
        cells = [
            {"cell_type": "code", "source": cell.content, "metadata": {"vscode": {"languageId": cell.language}}}
            if cell.is_code
            else {"cell_type": "markdown", "source": "", "metadata": {}}
            for cell in self.cells
        ]
        return json.dumps({"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": cells})


class OpenNotebooks:
    """Follows what the editor tells."""

    def __init__(self) -> None:
        self._open: dict[str, OpenNotebook] = {}

    @property
    def uris(self) -> Iterable[str]:
        """Those of all notebooks."""
        return tuple(self._open)

    def get(self, uri: str) -> OpenNotebook | None:
        """The notebook, as it is now; None where `uri` is none that is open."""
        return self._open.get(uri)

    def of_cell(self, uri: str) -> OpenNotebook | None:
        """The notebook that holds the cell."""
        return next((one for one in self._open.values() if any(cell.uri == uri for cell in one.cells)), None)

    def open(self, params: lsp.DidOpenNotebookDocumentParams) -> None:
        """A notebook with all of its cells."""
        told = params.notebook_document
        self._open[told.uri] = OpenNotebook(told.uri, told.version, _cells(told.cells, {}, params.cell_text_documents))

    def change(self, params: lsp.DidChangeNotebookDocumentParams, encoding: str) -> list[str]:
        """Other cells, another order of them, or other texts in them. Gives the URIs of the cells that are no more."""
        told, changes = params.notebook_document, params.change.cells
        before = self._open[told.uri]
        cells = before.cells
        if changes is not None and changes.structure is not None:
            cells = _restructured(cells, changes.structure)
        for data in (changes.data or ()) if changes is not None else ():
            cells = tuple(replace(cell, kind=data.kind) if cell.uri == data.document else cell for cell in cells)
        for text in (changes.text_content or ()) if changes is not None else ():
            cells = tuple(
                cell.changed(text.changes, text.document.version, encoding) if cell.uri == text.document.uri else cell
                for cell in cells
            )
        self._open[told.uri] = OpenNotebook(told.uri, told.version, cells)
        kept = {cell.uri for cell in cells}
        return [cell.uri for cell in before.cells if cell.uri not in kept]

    def close(self, uri: str) -> list[str]:
        """Forget the notebook. Gives the URIs of its cells."""
        notebook = self._open.pop(uri, None)
        return [cell.uri for cell in notebook.cells] if notebook is not None else []


def _restructured(cells: Sequence[Cell], structure: lsp.NotebookDocumentCellChangeStructure) -> tuple[Cell, ...]:
    array = structure.array
    known = {cell.uri: cell for cell in cells}
    new = _cells(array.cells or (), known, structure.did_open or ())
    return (*cells[: array.start], *new, *cells[array.start + array.delete_count :])


def _cells(
    told: Iterable[lsp.NotebookCell], known: Mapping[str, Cell], texts: Iterable[lsp.TextDocumentItem]
) -> tuple[Cell, ...]:
    """The cells with their texts: those that come with them, or as they are known, where a cell has only moved."""
    opened = {text.uri: text for text in texts}
    return tuple(_cell(cell, known.get(cell.document), opened.get(cell.document)) for cell in told)


def _cell(told: lsp.NotebookCell, known: Cell | None, text: lsp.TextDocumentItem | None) -> Cell:
    if text is not None:
        return Cell(told.document, told.kind, text.language_id, text.version, text.text)
    return replace(known, kind=told.kind) if known is not None else Cell(told.document, told.kind)

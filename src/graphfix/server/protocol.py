"""What pygls is told of notebooks, and what it leaves to the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsprotocol import types as lsp
from pygls.protocol import LanguageServerProtocol, lsp_method

# all cells, whatever they speak: the editor counts them all
NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    [lsp.NotebookDocumentFilterWithNotebook(lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"))], save=True
)


class NotebookProtocol(LanguageServerProtocol):
    """Keeps no notebooks of its own: `notebooks` says why."""

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: lsp.DidOpenNotebookDocumentParams) -> Iterator[Any]:
        yield from self._handed_on(lsp.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: lsp.DidChangeNotebookDocumentParams) -> Iterator[Any]:
        yield from self._handed_on(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: lsp.DidCloseNotebookDocumentParams) -> Iterator[Any]:
        yield from self._handed_on(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE, params)

    def _handed_on(self, method: str, params: object) -> Iterator[Any]:
        handler = self.fm.features.get(method)
        if handler is not None:
            yield handler, (params,), None

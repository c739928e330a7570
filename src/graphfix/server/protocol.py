"""What pygls leaves to the server: notebooks, and what comes before the client has introduced itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lsprotocol import types as lsp
from pygls.protocol import LanguageServerProtocol, lsp_method

# all cells, whatever they speak: the editor counts them all
NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    [lsp.NotebookDocumentFilterWithNotebook(lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"))], save=True
)


class Protocol(LanguageServerProtocol):
    """Keeps no notebooks of its own: `notebooks` says why. Before `initialize` there is no workspace, and nothing is answered."""

    _is_begun = False

    def handle_message(self, message: Any) -> None:
        """Hand on what a client says, from `initialize` on.

        https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#initialize
        """
        method = getattr(message, "method", None)
        self._is_begun = self._is_begun or method == lsp.INITIALIZE
        if self._is_begun or method == lsp.EXIT:
            super().handle_message(message)
        elif method is not None and hasattr(message, "id"):
            error = lsp.ResponseError(lsp.ErrorCodes.ServerNotInitialized, f"{method} came before initialize")
            self._send_response(message.id, None, error)

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

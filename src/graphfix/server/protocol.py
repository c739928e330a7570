"""What pygls leaves to the server: notebooks, what comes before the client has introduced itself, and what is no message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from graphfix.report.view import legible
from graphfix.server.messages import Refused, parsed

# all cells, whatever they speak: the editor counts them all
NOTEBOOKS = lsp.NotebookDocumentSyncOptions(
    [lsp.NotebookDocumentFilterWithNotebook(lsp.NotebookDocumentFilterNotebookType("jupyter-notebook"))], save=True
)


class Protocol(LanguageServerProtocol):
    """Keeps no notebooks of its own: `notebooks` says why. Before `initialize` there is no workspace, and nothing is answered."""

    _is_begun = False

    def receive(self, said: bytes | Refused) -> None:
        """Hand on one message; one that cannot be is answered with why, as JSON-RPC and the protocol name it."""
        try:
            if isinstance(said, Refused):
                raise said
            envelope = parsed(said)
        except Refused as error:
            told = {"code": int(error.code), "message": str(error)}
            self._send_data({"jsonrpc": "2.0", "id": None, "error": told})  # pygls leaves an id of nobody out
            return
        message = self._structured(envelope)
        if message is not None:
            self.handle_message(message)

    def _structured(self, said: dict[str, Any]) -> Any:
        """The message as pygls knows it; None, with an answer or a line in the log, where its parameters are not those of its method."""
        method = said.get("method", "")
        if method and self.get_message_type(method) is None:
            said.setdefault("params", None)  # nobody asks for what is in it
        try:
            return self.structure_message(said)
        except (JsonRpcException, RecursionError):
            if method and said.get("id") is not None:
                why = f"{method} does not take these parameters"
                self._send_response(said["id"], None, lsp.ResponseError(lsp.ErrorCodes.InvalidParams, why))
            else:
                self._log(f"{method or 'an answer'}: not what the protocol says, and passed over")
        return None

    def handle_message(self, message: Any) -> None:
        """Hand on what a client says, from `initialize` on and up to `shutdown`.

        https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#initialize
        """
        method, is_request = getattr(message, "method", None), hasattr(message, "id")
        if method is None or method == lsp.EXIT:
            super().handle_message(message)
        elif is_request and (self._shutdown or self._is_begun and method == lsp.INITIALIZE):
            why = "came after shutdown" if self._shutdown else "came before"
            self._send_response(message.id, None, lsp.ResponseError(lsp.ErrorCodes.InvalidRequest, f"{method} {why}"))
        elif self._is_begun or method == lsp.INITIALIZE:
            self._is_begun = True
            super().handle_message(message)
        elif is_request:
            error = lsp.ResponseError(lsp.ErrorCodes.ServerNotInitialized, f"{method} came before initialize")
            self._send_response(message.id, None, error)

    def _send_response(self, msg_id: Any, result: Any = None, error: lsp.ResponseError | None = None) -> None:
        """Answer a request. Where the fault lies inside of the server is for its log: no client can do anything with it."""
        if error is not None:
            error.data = None
        super()._send_response(msg_id, result, error)

    def _log(self, line: str) -> None:
        self._server.window_log_message(lsp.LogMessageParams(lsp.MessageType.Warning, legible(line)))  # type: ignore[attr-defined]

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Iterator[Any]:
        """Keep the new text of a document; what is not open has none."""
        if unquote(params.text_document.uri) not in self.workspace.text_documents:
            self._log(f"{params.text_document.uri} was changed, and is not open")
            return
        yield from super().lsp_text_document__did_change(params)

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

"""The language server: what clients say, and what they are told."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from graphfix import __version__
from graphfix.report.report import Report
from graphfix.report.view import legible
from graphfix.run.outcome import Elsewhere, Outcome, Status
from graphfix.run.pool import warm
from graphfix.server.actions import FIX_ALL, KINDS, Target, fix_all, is_wanted, quick_fixes, silencers
from graphfix.server.diagnostics import diagnostic, hover
from graphfix.server.documents import Document, Module, document_of
from graphfix.server.messages import Stream
from graphfix.server.notebooks import OpenNotebooks
from graphfix.server.places import path_of, uri_of
from graphfix.server.protocol import NOTEBOOKS, Protocol
from graphfix.server.readings import Reading, Readings, Text
from graphfix.server.stdio import Writer, reader_of
from graphfix.settings.files import NAMES
from graphfix.source.text import Source

TYPING = 0.3  # seconds in which the next key may come


class Server(LanguageServer):
    """Reads the open documents, and answers from what is known of their newest texts."""

    def __init__(self) -> None:
        # whole texts: clients and libraries do not agree on what ends a line inside of one
        super().__init__(
            "graphfix",
            __version__,
            protocol_cls=Protocol,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            notebook_document_sync=NOTEBOOKS,
        )
        self.notebooks = OpenNotebooks()
        self.readings = Readings(self._tell, self._say)
        self._said: dict[str, set[str]] = {}

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log it: nothing of ours is worth a window in front of what somebody writes."""
        if not isinstance(error, JsonRpcException) or isinstance(error, JsonRpcInternalError):  # the others are the client's, and answered
            self.log(f"internal error: {type(error).__name__}: {error}")

    def log(self, message: str, kind: lsp.MessageType = lsp.MessageType.Error) -> None:
        """One line in the log of the client."""
        self.window_log_message(lsp.LogMessageParams(kind, legible(message)))

    def read(self, uri: str, delay: float = 0.0) -> None:
        """Examine the document as it is now, if it is Python."""
        text = self._text(uri)
        if text is not None:
            self.readings.begin(text, self._folders(), delay)

    def _text(self, uri: str) -> Text | None:
        """What the editor holds of a module or a notebook; None of anything else, and of what is no file."""
        path, notebook = path_of(uri), self.notebooks.get(uri)
        if path is None:
            return None
        if notebook is not None:
            return Text(uri, path, notebook.json, notebook.version, notebook.cells) if path.suffix == ".ipynb" else None
        document = self.workspace.get_text_document(uri)
        if path.suffix == ".ipynb" or not (document.language_id == "python" or path.suffix == ".py"):
            return None
        return Text(uri, path, document.source, document.version)

    def read_all(self, *, but: str = "", delay: float = 0.0) -> None:
        """Examine all open documents again: settings have changed, or files that they import."""
        for uri in [*self.workspace.text_documents, *self.notebooks.uris]:
            if uri != but:
                self.read(uri, delay)

    def close(self, uri: str, cells: Sequence[str] = ()) -> None:
        """Forget the document, a notebook where it has `cells`, and take back what was told of it."""
        self.readings.drop(uri)
        self._said.pop(uri, None)
        self.clear(cells or [uri])

    def clear(self, uris: Iterable[str]) -> None:
        """Take back what was told of text documents."""
        for uri in uris:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def reading_of(self, uri: str) -> Reading | None:
        """The reading of the module, or of the notebook with the cell `uri`."""
        notebook = self.notebooks.of_cell(uri)
        return self.readings.of(notebook.uri if notebook is not None else uri)

    def document(self, reading: Reading, outcome: Outcome) -> Document | None:
        """The document with its findings; None where there are none."""
        return document_of(reading.text, outcome.source, self.encoding) if outcome.source is not None else None

    def target(self, reading: Reading) -> Target:
        """The document, as something to be edited."""
        workspace = self.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace is not None else None
        others = {uri: document.version for uri, document in self.workspace.text_documents.items()}
        return Target({**others, **reading.text.versions}, versioned=bool(edits and edits.document_changes))

    def module(self, part: Elsewhere) -> Module | None:
        """Another module that a fix changes, as the editor holds it, or as it is on disk; None where that is another text by now."""
        known = (uri for uri in self.workspace.text_documents if os.path.realpath(path_of(uri) or "") == str(part.path))
        document = self.workspace.get_text_document(next(known, uri_of(part.path)))
        try:
            is_as_it_was = document.source.removeprefix("\ufeff") == part.text
        except (OSError, UnicodeError):  # it is gone, or no text that the editor's protocol could name places in
            is_as_it_was = False
        if not is_as_it_was:
            return None
        text = Text(document.uri, part.path, document.source, document.version)
        return Module(text, Source(part.path, part.text), self.encoding)

    @property
    def encoding(self) -> str:
        """In which units the client counts."""
        return self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16

    def _folders(self) -> tuple[Path, ...]:
        uris = [*self.workspace.folders, *([self.workspace.root_uri] if self.workspace.root_uri else [])]
        return tuple(path for path in map(path_of, uris) if path is not None)

    def _tell(self, text: Text, outcome: Outcome | None) -> None:
        """Publish the findings in `text`."""
        found: dict[str, list[lsp.Diagnostic]] = {uri: [] for uri in text.versions}
        if outcome is not None:
            self._log_problems(text, outcome)
            if outcome.source is not None:
                places = document_of(text, outcome.source, self.encoding).places
                for finding in outcome.findings:
                    found[places.place(finding.span).uri].append(diagnostic(finding, places))
        for uri, version in text.versions.items():
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found[uri], version))

    def _log_problems(self, text: Text, outcome: Outcome) -> None:
        """What went wrong inside of graphfix; what is wrong with the text itself, other tools say."""
        report = Report()
        report.add(outcome)
        if outcome.status in (Status.EXAMINED, Status.INTERNAL):
            for line in report.problems():
                self._say(text, line)
        for line in report.notes():
            self._say(text, line, lsp.MessageType.Info)

    def _say(self, text: Text, line: str, kind: lsp.MessageType = lsp.MessageType.Error) -> None:
        """Log a line about a document, once: the next key would bring it again."""
        said = self._said.setdefault(text.uri, set())
        if line not in said:
            said.add(line)
            self.log(line if str(text.path) in line else f"{text.path}: {line}", kind)


def made() -> Server:
    """A server with all that it answers."""
    server = Server()

    @server.feature(lsp.INITIALIZED)
    def initialized(params: lsp.InitializedParams) -> None:
        _watch_files(server)

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.read(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.read(params.text_document.uri, TYPING)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.read_all(but=params.text_document.uri)  # its own text is known

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_opened(params: lsp.DidOpenNotebookDocumentParams) -> None:
        server.notebooks.open(params)
        server.read(params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: lsp.DidChangeNotebookDocumentParams) -> None:
        if server.notebooks.get(params.notebook_document.uri) is None:
            server.log(f"{params.notebook_document.uri} was changed, and is not open", lsp.MessageType.Warning)
            return
        server.clear(server.notebooks.change(params, server.encoding))
        server.read(params.notebook_document.uri, TYPING)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
    def notebook_saved(params: lsp.DidSaveNotebookDocumentParams) -> None:
        server.read_all(but=params.notebook_document.uri)

    @server.feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        server.close(uri, server.notebooks.close(uri))

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: lsp.DidChangeWatchedFilesParams) -> None:
        server.read_all(delay=TYPING)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        return _hover(server, params)

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=list(KINDS)))
    async def acted(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await _actions(server, params)

    return server


def _watch_files(server: Server) -> None:
    """Ask the client to tell of changed settings, where it can."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace is not None else None
    if watched is None or not watched.dynamic_registration:
        return
    watchers = [lsp.FileSystemWatcher(f"**/{name}") for name in (*NAMES, ".gitignore")]
    options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = lsp.Registration("settings", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    server.client_register_capability(lsp.RegistrationParams([registration]))


def _hover(server: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    uri = params.text_document.uri
    reading = server.reading_of(uri)
    outcome = reading.found.result() if reading is not None and reading.found.done() else None
    if reading is None or outcome is None:
        return None
    document = server.document(reading, outcome)
    return hover(outcome.findings, document.places, uri, params.position) if document is not None else None


async def _actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions for the newest text, once that is examined."""
    only, uri = params.context.only, params.text_document.uri
    reading = server.reading_of(uri)
    # a client that takes its question back must not take the reading with it
    outcome = await asyncio.shield(reading.found) if reading is not None else None
    document = server.document(reading, outcome) if reading is not None and outcome is not None else None
    if reading is None or outcome is None or document is None:
        return []
    target = server.target(reading)
    actions: list[lsp.CodeAction] = []
    if is_wanted(lsp.CodeActionKind.QuickFix, only):
        where = lsp.Location(uri, params.range)
        actions += quick_fixes(outcome, document, target, where, server.module)
        actions += silencers(outcome, document, target, where)
    if is_wanted(FIX_ALL, only):
        after = await asyncio.shield(reading.repaired)
        if after is not None:
            actions.append(fix_all(after, document, target))
    return actions


def serve() -> None:
    """Speak with the client over the standard streams until it is gone; leaves by `SystemExit` where that asks for the end.

    Raises `NoPipe` where standard input is nothing to wait for.
    """
    logging.getLogger("pygls").addHandler(logging.NullHandler())  # what clients do wrong is answered; else it is a traceback
    warm(repair=True)
    asyncio.run(_serve())


async def _serve() -> None:
    reader = await reader_of(0)
    server = made()
    server.protocol.set_writer(Writer(1))
    async for said in Stream(reader).messages():
        server.protocol.receive(said)

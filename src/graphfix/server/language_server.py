"""The language server: what clients say, and what they are told."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from lsprotocol import types as lsp
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from graphfix import __version__
from graphfix.report.report import Report
from graphfix.run.outcome import Outcome, Status
from graphfix.run.pool import warm
from graphfix.server.actions import FIX_ALL, KINDS, Target, fix_all, is_wanted, quick_fixes
from graphfix.server.diagnostics import diagnostic, hover
from graphfix.server.places import Places, path_of
from graphfix.server.readings import Reading, Readings, Text
from graphfix.server.stdio import Writer, reader_of
from graphfix.settings.files import NAMES

TYPING = 0.3  # seconds in which the next key may come


class Server(LanguageServer):
    """Reads the open documents, and answers from what is known of their newest texts."""

    def __init__(self) -> None:
        # whole texts: clients and libraries do not agree on what ends a line inside of one
        super().__init__("graphfix", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.readings = Readings(self._tell, self._say)
        self._said: dict[str, set[str]] = {}

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log it: nothing of ours is worth a window in front of what somebody writes."""
        self.log(f"internal error: {type(error).__name__}: {error}")

    def log(self, message: str, kind: lsp.MessageType = lsp.MessageType.Error) -> None:
        """One line in the log of the client."""
        self.window_log_message(lsp.LogMessageParams(kind, message))

    def read(self, uri: str, delay: float = 0.0) -> None:
        """Examine the document as it is now, if it is Python."""
        document, path = self.workspace.get_text_document(uri), path_of(uri)
        if path is None or path.suffix == ".ipynb" or not (document.language_id == "python" or path.suffix == ".py"):
            return
        self.readings.begin(Text(uri, path, document.source, document.version), self._folders(), delay)

    def read_all(self, *, but: str = "", delay: float = 0.0) -> None:
        """Examine all open documents again: settings have changed, or files that they import."""
        for uri in list(self.workspace.text_documents):
            if uri != but:
                self.read(uri, delay)

    def close(self, uri: str) -> None:
        """Forget the document, and take back what was told of it."""
        self.readings.drop(uri)
        self._said.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def places(self, reading: Reading, outcome: Outcome) -> Places | None:
        """Where the findings are; None where there are none."""
        if outcome.source is None:
            return None
        marked = reading.text.content.startswith("\ufeff")
        return Places(reading.text.uri, outcome.source, self.encoding, marked=marked)

    def target(self, reading: Reading) -> Target:
        """The document, as something to be edited."""
        workspace = self.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace is not None else None
        return Target(reading.text.uri, reading.text.version, versioned=bool(edits and edits.document_changes))

    @property
    def encoding(self) -> str:
        """In which units the client counts."""
        return self.workspace.position_encoding or lsp.PositionEncodingKind.Utf16

    def _folders(self) -> tuple[Path, ...]:
        uris = [*self.workspace.folders, *([self.workspace.root_uri] if self.workspace.root_uri else [])]
        return tuple(path for path in map(path_of, uris) if path is not None)

    def _tell(self, text: Text, outcome: Outcome | None) -> None:
        """Publish the findings in `text`."""
        found: list[lsp.Diagnostic] = []
        if outcome is not None:
            self._log_problems(text, outcome)
            if outcome.source is not None:
                places = Places(text.uri, outcome.source, self.encoding, marked=text.content.startswith("\ufeff"))
                found = [diagnostic(finding, places) for finding in outcome.findings]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(text.uri, found, text.version))

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
    reading = server.readings.of(params.text_document.uri)
    outcome = reading.found.result() if reading is not None and reading.found.done() else None
    if reading is None or outcome is None:
        return None
    places = server.places(reading, outcome)
    return hover(outcome.findings, places, params.position) if places is not None else None


async def _actions(server: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The actions for the newest text, once that is examined."""
    only = params.context.only
    reading = server.readings.of(params.text_document.uri)
    # a client that takes its question back must not take the reading with it
    outcome = await asyncio.shield(reading.found) if reading is not None else None
    if reading is None or outcome is None:
        return []
    target, places = server.target(reading), server.places(reading, outcome)
    actions: list[lsp.CodeAction] = []
    if places is not None and is_wanted(lsp.CodeActionKind.QuickFix, only):
        actions += quick_fixes(outcome, places, target, params.range)
    if is_wanted(FIX_ALL, only):
        after = await asyncio.shield(reading.repaired)
        if after is not None:
            actions.append(fix_all(reading.text.content, after, target, server.encoding))
    return actions


def serve() -> None:
    """Speak with the client over the standard streams until it is gone; leaves by `SystemExit` where that asks for the end.

    Raises `NoPipe` where standard input is nothing to wait for.
    """
    warm(repair=True)
    asyncio.run(_serve())


async def _serve() -> None:
    reader = await reader_of(0)
    server = made()
    server.protocol.set_writer(Writer(1))
    try:
        await run_async(threading.Event(), reader, server.protocol, error_handler=server.report_server_error)
    except asyncio.IncompleteReadError:
        pass  # the client is gone in the middle of a word

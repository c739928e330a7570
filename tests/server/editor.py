"""An editor, as far as a language server can tell: pygls' client at the streams of a command."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

PATIENCE = 60.0


class Editor(LanguageClient):
    """Keeps what the server tells. `code`: the server's exit code, once it has ended."""

    def __init__(self, folder: Path) -> None:
        super().__init__("editor", "1")
        self.folder = folder
        self.told: dict[str, list[lsp.PublishDiagnosticsParams]] = {}
        self.logged: list[str] = []
        self.watched: list[str] = []
        self.code: int | None = None
        self._news = asyncio.Condition()
        self._texts: dict[str, tuple[int, str]] = {}
        self._cells: set[str] = set()

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.code = server.returncode

    async def until(self, true: Callable[[], Any]) -> None:
        """Wait until what the server has told makes it true."""
        async with self._news:
            await asyncio.wait_for(self._news.wait_for(true), PATIENCE)

    async def news(self) -> None:
        async with self._news:
            self._news.notify_all()

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def _document(self, name: str) -> str:
        return cell_uri(name) if name in self._cells else self.uri(name)

    def open(self, name: str, text: str, language: str = "python") -> None:
        self._texts[name] = (1, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(self.uri(name), language, 1, text)))

    def change(self, name: str, text: str) -> None:
        version = self._texts[name][0] + 1
        self._texts[name] = (version, text)
        self.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(version, self.uri(name)), [lsp.TextDocumentContentChangeWholeDocument(text)]
            )
        )

    def save(self, name: str) -> None:
        (self.folder / name).write_text(self._texts[name][1])
        self.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(self.uri(name))))

    def close(self, name: str) -> None:
        self.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(self.uri(name))))

    def open_notebook(self, name: str, cells: Sequence[tuple[str, str, str]]) -> None:
        """A notebook with cells, each its name, its language and its text."""
        self._texts |= {cell: (1, text) for cell, _, text in cells}
        notebook = lsp.NotebookDocument(self.uri(name), "jupyter-notebook", 1, [self._cell(*cell) for cell in cells])
        self.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(notebook, [self._item(*cell) for cell in cells]))

    def change_notebook(self, name: str, changes: lsp.NotebookDocumentCellChanges) -> None:
        self.notebook_document_did_change(
            lsp.DidChangeNotebookDocumentParams(
                lsp.VersionedNotebookDocumentIdentifier(2, self.uri(name)), lsp.NotebookDocumentChangeEvent(cells=changes)
            )
        )

    def type(self, name: str, cell: str, *changes: lsp.TextDocumentContentChangeEvent) -> None:
        """Change parts of a cell."""
        version, text = self._texts[cell]
        self._texts[cell] = (version + 1, text)
        document = lsp.VersionedTextDocumentIdentifier(version + 1, cell_uri(cell))
        self.change_notebook(
            name,
            lsp.NotebookDocumentCellChanges(text_content=[lsp.NotebookDocumentCellContentChanges(document, list(changes))]),
        )

    def restructure(self, name: str, start: int, delete: Sequence[str], cells: Sequence[tuple[str, str, str]]) -> None:
        """Put cells in the place of others; those that are known only move."""
        new = [cell for cell in cells if cell[0] not in self._texts]
        self._texts |= {cell: (1, text) for cell, _, text in new}
        moved = {cell for cell, _, _ in cells}
        closed = [lsp.TextDocumentIdentifier(cell_uri(cell)) for cell in delete if cell not in moved]
        array = lsp.NotebookCellArrayChange(start, len(delete), [self._cell(*cell) for cell in cells])
        structure = lsp.NotebookDocumentCellChangeStructure(array, [self._item(*cell) for cell in new], closed)
        self.change_notebook(name, lsp.NotebookDocumentCellChanges(structure=structure))

    def save_notebook(self, name: str) -> None:
        self.notebook_document_did_save(lsp.DidSaveNotebookDocumentParams(lsp.NotebookDocumentIdentifier(self.uri(name))))

    def close_notebook(self, name: str, cells: Sequence[str]) -> None:
        documents = [lsp.TextDocumentIdentifier(cell_uri(cell)) for cell in cells]
        self.notebook_document_did_close(
            lsp.DidCloseNotebookDocumentParams(lsp.NotebookDocumentIdentifier(self.uri(name)), documents)
        )

    def _cell(self, cell: str, language: str, text: str) -> lsp.NotebookCell:
        kind = lsp.NotebookCellKind.Markup if language == "markdown" else lsp.NotebookCellKind.Code
        return lsp.NotebookCell(kind, cell_uri(cell))

    def _item(self, cell: str, language: str, text: str) -> lsp.TextDocumentItem:
        self._cells.add(cell)
        return lsp.TextDocumentItem(cell_uri(cell), language, self._texts[cell][0], text)

    async def diagnostics(self, name: str, after: int = 0) -> Sequence[lsp.Diagnostic]:
        """What the server tells of the newest text of a document, told after so many times."""
        version, uri = self._texts[name][0], self._document(name)
        await self.until(lambda: any(one.version == version for one in self.told.get(uri, [])[after:]))
        return next(one.diagnostics for one in reversed(self.told[uri]) if one.version == version)

    async def actions(self, name: str, where: lsp.Range, only: Sequence[str] | None = None) -> list[lsp.CodeAction]:
        document = lsp.TextDocumentIdentifier(self._document(name))
        context = lsp.CodeActionContext([], only=list(only) if only is not None else None)
        answer = await self.text_document_code_action_async(lsp.CodeActionParams(document, where, context))
        return list(answer or [])  # type: ignore[arg-type]

    async def fixes(self, name: str, where: lsp.Range, only: Sequence[str] | None = None) -> list[lsp.CodeAction]:
        """The actions that repair something."""
        return [action for action in await self.actions(name, where, only) if not action.title.startswith("Disable ")]

    async def hover(self, name: str, position: lsp.Position) -> lsp.Hover | None:
        return await self.text_document_hover_async(lsp.HoverParams(lsp.TextDocumentIdentifier(self._document(name)), position))

    async def end(self) -> int | None:
        """Shut the server down, and give its exit code."""
        await self.shutdown_async(None)
        self.exit(None)
        await asyncio.wait_for(self.stop(), PATIENCE)
        return self.code


def cell_uri(cell: str) -> str:
    """As VS Code names cells."""
    return f"vscode-notebook-cell:/work/n.ipynb#{cell}"


def editor_in(folder: Path) -> Editor:
    editor = Editor(folder)

    @editor.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    async def told(params: lsp.PublishDiagnosticsParams) -> None:
        editor.told.setdefault(params.uri, []).append(params)
        await editor.news()

    @editor.feature(lsp.WINDOW_LOG_MESSAGE)
    async def logged(params: lsp.LogMessageParams) -> None:
        editor.logged.append(params.message)
        await editor.news()

    @editor.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    async def registered(params: lsp.RegistrationParams) -> None:
        editor.watched += [one.method for one in params.registrations]
        await editor.news()

    return editor


def capabilities(encodings: Sequence[str] = (), *, versioned: bool = True) -> lsp.ClientCapabilities:
    """Those of an editor that tells of changed settings."""
    return lsp.ClientCapabilities(
        general=lsp.GeneralClientCapabilities(position_encodings=list(encodings) or None),
        workspace=lsp.WorkspaceClientCapabilities(
            workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=versioned),
            did_change_watched_files=lsp.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        ),
    )


def drive(
    words: Sequence[str],
    folder: Path,
    act: Callable[[Editor], Awaitable[None]],
    able: lsp.ClientCapabilities | None = None,
) -> None:
    """Start the server in the folder, do what `act` does, and see that it ends as it should."""

    async def session() -> None:
        editor = editor_in(folder)
        await editor.start_io(words[0], *words[1:], cwd=folder)
        server = editor._server
        try:
            uri = folder.as_uri()
            await editor.initialize_async(
                lsp.InitializeParams(able or capabilities(), root_uri=uri, workspace_folders=[lsp.WorkspaceFolder(uri, "work")])
            )
            editor.initialized(lsp.InitializedParams())
            await act(editor)
            assert await editor.end() == 0
        finally:
            if server is not None and server.returncode is None:
                server.kill()

    asyncio.run(session())


def applied(text: str, edits: Sequence[lsp.TextEdit]) -> str:
    """The text with the edits, as the protocol says: places are those of the text before, in UTF-16."""
    lines = text.split("\n")

    def offset(place: lsp.Position) -> int:
        before = sum(len(line) + 1 for line in lines[: place.line])
        return before + len(lines[place.line].encode("utf-16-le")[: 2 * place.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda one: offset(one.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def edits_by_document(action: lsp.CodeAction) -> dict[str, list[lsp.TextEdit]]:
    """The edits of an action for each document, whose version is to be the first."""
    assert action.edit is not None and action.edit.document_changes is not None
    made = {}
    for change in action.edit.document_changes:
        assert isinstance(change, lsp.TextDocumentEdit) and change.text_document.version == 1
        made[change.text_document.uri] = [edit for edit in change.edits if isinstance(edit, lsp.TextEdit)]
    return made


def edits_of(action: lsp.CodeAction) -> list[lsp.TextEdit]:
    """The edits of an action that edits one document."""
    assert action.edit is not None
    if action.edit.changes is not None:
        (edits,) = action.edit.changes.values()
        return list(edits)
    assert action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, lsp.TextDocumentEdit)
    return [edit for edit in change.edits if isinstance(edit, lsp.TextEdit)]

"""Notebooks, as an editor that starts a server meets them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types as lsp

from tests.served import Server
from tests.started import starts

from .editor import Editor, applied, cell_uri, drive, edits_by_document

Run = Callable[..., subprocess.CompletedProcess[bytes]]
EVERYWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
FIX_ALL = "source.fixAll.graphfix"
SETUP = """%matplotlib inline
import torch
import torch.nn.functional as F
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]"""
LOOP = """total = 0.0
for x, y in batches:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    note = '🔥'; total += loss
print(total)"""
LEGACY = "!ls\nprint(loss.data[0])\n!pwd"
CELLS = [("setup", "python", SETUP), ("prose", "markdown", "# total += loss"), ("loop", "python", LOOP)]


@pytest.fixture
def words(server: Server) -> list[str]:
    return [*starts(server.address), "server"]


def places(diagnostics: list[lsp.Diagnostic] | tuple[lsp.Diagnostic, ...]) -> list[tuple[object, int, int, int, int]]:
    return [
        (one.code, one.range.start.line, one.range.start.character, one.range.end.line, one.range.end.character)
        for one in diagnostics
    ]


def part(start: tuple[int, int], end: tuple[int, int], text: str) -> lsp.TextDocumentContentChangePartial:
    return lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(*start), lsp.Position(*end)), text)


def notebook(cells: list[tuple[str, str, str]]) -> str:
    made = [
        {"cell_type": "markdown" if language == "markdown" else "code", "metadata": {}, "source": text}
        | ({} if language == "markdown" else {"outputs": [], "execution_count": None})
        for _, language, text in cells
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {"language_info": {"name": "python"}}, "cells": made})


def sources(path: Path) -> list[str]:
    return [cell["source"] for cell in json.loads(path.read_text())["cells"]]


def test_findings_are_told_of_the_cell_that_they_are_in(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", CELLS)
        (found,) = await editor.diagnostics("loop")
        # in UTF-16: the flame is two
        assert places([found]) == [("GF101", 6, 17, 6, 30)]
        assert await editor.diagnostics("setup") == ()
        assert found.related_information is not None
        assert {one.location.uri for one in found.related_information} == {cell_uri("loop")}
        assert set(editor.told) == {cell_uri("setup"), cell_uri("loop")}
        assert editor.logged == []

    drive(words, tmp_path, act)


def test_a_cell_knows_those_before_it_and_a_story_leads_into_them(tmp_path: Path, words: list[str]) -> None:
    steps = "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
    cells = [
        ("setup", "python", SETUP),
        ("function", "python", f"def learn(loss):\n{steps}"),
        ("loop", "python", LOOP.replace(steps, "    learn(loss)\n")),
    ]

    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", cells)
        (found,) = await editor.diagnostics("loop")
        assert found.code == "GF101" and found.related_information is not None
        told = [(one.location.uri, one.location.range.start.line) for one in found.related_information]
        assert told == [(cell_uri("loop"), 4), (cell_uri("function"), 2)]

    drive(words, tmp_path, act)


def test_parts_of_cells_change_as_the_editor_counts(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", CELLS)
        assert len(await editor.diagnostics("loop")) == 1
        # two changes, the second in what the first has made; `total += loss` ends behind the flame
        editor.type("n.ipynb", "loop", part((6, 11), (6, 15), "🔥🔥'"), part((6, 32), (6, 32), ".item()"))
        assert await editor.diagnostics("loop") == ()
        editor.type("n.ipynb", "loop", lsp.TextDocumentContentChangeWholeDocument(LOOP))
        assert places(await editor.diagnostics("loop")) == [("GF101", 6, 17, 6, 30)]

    drive(words, tmp_path, act)


def test_cells_come_go_and_move(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", CELLS)
        assert len(await editor.diagnostics("loop")) == 1
        editor.restructure("n.ipynb", 2, ["loop"], [("legacy", "python", LEGACY), CELLS[2]])
        # `loss` is none of autograd's before the loop has run
        assert len(await editor.diagnostics("legacy")) == 0
        editor.restructure("n.ipynb", 2, ["legacy", "loop"], [CELLS[2], ("legacy", "python", LEGACY)])
        await editor.until(lambda: editor.told[cell_uri("legacy")][-1].diagnostics)
        assert places(editor.told[cell_uri("legacy")][-1].diagnostics)[0][1] == 1
        editor.restructure("n.ipynb", 2, ["loop"], [])
        await editor.until(lambda: editor.told[cell_uri("loop")][-1].version is None)
        assert editor.told[cell_uri("loop")][-1].diagnostics == ()
        await editor.until(lambda: not editor.told[cell_uri("legacy")][-1].diagnostics)

    drive(words, tmp_path, act)


def test_a_quick_fix_edits_its_cell_and_leaves_ipython_alone(tmp_path: Path, words: list[str]) -> None:
    cells = [*CELLS, ("timed", "python", "%%time\n" + LOOP + "\n!ls\n"), ("bash", "python", "%%bash\necho total += loss")]

    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", cells)
        for name, text in (("loop", LOOP), ("timed", cells[3][2])):
            (found,) = await editor.diagnostics(name)
            action, silencer = await editor.actions(name, found.range, ["quickfix"])
            assert list(action.diagnostics or ()) == [found]
            ((uri, edits),) = edits_by_document(action).items()
            assert uri == cell_uri(name)
            assert applied(text, edits) == text.replace("total += loss", "total += loss.item()")
            ((uri, edits),) = edits_by_document(silencer).items()
            assert uri == cell_uri(name)
            assert applied(text, edits) == text.replace("total += loss", "total += loss  # graphfix: ignore[GF101]")
        for name in ("setup", "prose", "bash"):
            assert await editor.actions(name, EVERYWHERE, ["quickfix"]) == []

    drive(words, tmp_path, act)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fix_all_makes_the_cells_that_apply_writes(tmp_path: Path, words: list[str], graphfix: Run, newline: str) -> None:
    cells = [(name, language, text.replace("\n", newline)) for name, language, text in [*CELLS, ("legacy", "python", LEGACY)]]
    made: list[str] = []

    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", cells)
        assert await editor.diagnostics("loop")
        (action,) = await editor.actions("setup", EVERYWHERE, [FIX_ALL])
        edits = edits_by_document(action)
        assert set(edits) == {cell_uri("loop"), cell_uri("legacy")}
        made.extend(applied(text, edits.get(cell_uri(name), [])) for name, _, text in cells)

    drive(words, tmp_path, act)
    path = tmp_path / "n.ipynb"
    path.write_text(notebook(cells))
    assert graphfix("apply", "--isolated", "n.ipynb").returncode == 0
    assert sources(path) == made != [text for _, _, text in cells]


def test_hover_shows_the_rule_in_its_cell_alone(tmp_path: Path, words: list[str], graphfix: Run) -> None:
    page = graphfix("rule", "GF101").stdout.decode().rstrip()

    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", CELLS)
        (found,) = await editor.diagnostics("loop")
        shown = await editor.hover("loop", found.range.start)
        assert shown is not None and isinstance(shown.contents, lsp.MarkupContent)
        assert (shown.contents.value, shown.range) == (page, found.range)
        assert await editor.hover("setup", found.range.start) is None

    drive(words, tmp_path, act)


def test_a_cell_that_does_not_parse_leaves_the_others(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", [*CELLS, ("half", "python", "for x in (")])
        assert len(await editor.diagnostics("loop")) == 1
        assert await editor.diagnostics("half") == ()

    drive(words, tmp_path, act)


def test_saving_looks_again_at_what_is_open_and_closing_takes_it_back(
    tmp_path: Path, words: list[str], loops: SimpleNamespace
) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "inner.py"
    inner.write_text("def keep(loss):\n    return loss.item()\n")
    text = "from inner import keep\n" + LOOP.replace("total += loss", "total += keep(loss)")

    async def act(editor: Editor) -> None:
        editor.open_notebook("n.ipynb", [CELLS[0], ("loop", "python", text)])
        assert await editor.diagnostics("loop") == ()
        inner.write_text("def keep(loss):\n    return loss * 1.0\n")
        editor.open("other.py", loops.clean)
        editor.save("other.py")
        await editor.until(lambda: editor.told[cell_uri("loop")][-1].diagnostics)
        editor.close_notebook("n.ipynb", ["setup", "loop"])
        await editor.until(lambda: not editor.told[cell_uri("loop")][-1].diagnostics)
        assert await editor.actions("loop", EVERYWHERE) == []
        assert editor.logged == []

    drive(words, tmp_path, act)


def test_a_notebook_that_is_no_file_has_no_findings(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.uri = lambda name: "untitled:Untitled-1.ipynb" if name == "n" else (tmp_path / name).as_uri()  # type: ignore[method-assign]
        editor.open_notebook("n", CELLS)
        editor.open("x.py", loops.total)
        assert await editor.diagnostics("x.py")
        assert set(editor.told) == {editor.uri("x.py")}

    drive(words, tmp_path, act)

"""In an editor the settings of each file's folder hold, and what other files say is what they say now."""

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

from .editor import Editor, drive

Run = Callable[..., subprocess.CompletedProcess[bytes]]
EVERYWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
FIX_ALL = "source.fixAll.graphfix"


@pytest.fixture
def words(server: Server) -> list[str]:
    return [*starts(server.address), "server"]


def codes(diagnostics: list[lsp.Diagnostic] | tuple[lsp.Diagnostic, ...]) -> list[object]:
    return [one.code for one in diagnostics]


def test_settings_of_the_folder_hold(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.graphfix]\nignore = ["GF1"]\n')
    (tmp_path / "inner/graphfix.toml").write_text('select = ["GF1"]\n')

    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.both)
        editor.open("inner/x.py", loops.both)
        assert codes(await editor.diagnostics("x.py")) == ["GF901"]
        assert codes(await editor.diagnostics("inner/x.py")) == ["GF101"]

    drive(words, tmp_path, act)


def test_what_a_walk_of_the_folder_leaves_out_is_left_out(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("made/\n")
    (tmp_path / "graphfix.toml").write_text('extend-exclude = ["third_party/"]\n')

    async def act(editor: Editor) -> None:
        for name in ("made/x.py", "third_party/deep/x.py", ".venv/lib/x.py", "../site-packages/x.py"):
            editor.open(name, loops.total)
            assert await editor.diagnostics(name) == (), name
        editor.open("x.py", loops.total)
        assert codes(await editor.diagnostics("x.py")) == ["GF101"]

    drive(words, tmp_path, act)


def test_changed_settings_hold_at_once(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        await editor.until(lambda: editor.watched == [lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES])
        editor.open("x.py", loops.both)
        assert codes(await editor.diagnostics("x.py")) == ["GF901", "GF101"]
        for number, (text, expected) in enumerate([('select = ["GF101"]\n', ["GF101"]), ("unknown = 1\n", [])], 1):
            (tmp_path / "graphfix.toml").write_text(text)
            event = lsp.FileEvent(editor.uri("graphfix.toml"), lsp.FileChangeType.Changed)
            editor.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
            assert codes(await editor.diagnostics("x.py", after=number)) == expected
        await editor.until(lambda: editor.logged)
        (line,) = editor.logged
        assert "graphfix.toml:1: unknown setting 'unknown'" in line

    drive(words, tmp_path, act)


def test_the_baseline_of_the_settings_is_passed_over(
    tmp_path: Path, words: list[str], loops: SimpleNamespace, graphfix: Run
) -> None:
    (tmp_path / "x.py").write_text(loops.total)
    (tmp_path / "graphfix.toml").write_text('baseline = "known.json"\n')
    assert graphfix("check", "--write-baseline", "known.json", ".").returncode == 0
    assert json.loads((tmp_path / "known.json").read_text())

    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.total)
        assert await editor.diagnostics("x.py") == ()
        editor.change("x.py", loops.both)
        assert codes(await editor.diagnostics("x.py")) == ["GF901"]

    drive(words, tmp_path, act)


def test_unsafe_fixes_that_settings_want_are_in_the_fix_of_all(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "graphfix.toml").write_text("unsafe-fixes = true\n")
    root = Path(__file__).parents[2]
    text = (root / "fixtures/GF205-non-leaf-parameter/unsafe_log_scale/before.py").read_text()

    async def act(editor: Editor) -> None:
        editor.open("x.py", text)
        assert [one.kind for one in await editor.fixes("x.py", EVERYWHERE)] == ["quickfix", FIX_ALL]

    drive(words, tmp_path, act)


def test_what_is_imported_is_read_anew_once_it_is_saved(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    number, tensor = ("def keep(loss):\n    return loss.item()\n", "def keep(loss):\n    return loss * 1.0\n")
    (tmp_path / "kept.py").write_text(number)
    text = "from kept import keep\n" + loops.total.replace("total += loss", "total += keep(loss)")

    async def act(editor: Editor) -> None:
        editor.open("x.py", text)
        editor.open("kept.py", number)
        assert await editor.diagnostics("x.py") == ()
        editor.change("kept.py", tensor)
        editor.save("kept.py")
        assert codes(await editor.diagnostics("x.py", after=1)) == ["GF101"]

    drive(words, tmp_path, act)

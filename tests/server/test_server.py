"""The language server, as an editor that starts it meets it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types as lsp

from tests.run.test_joined import FILES as PROGRAM
from tests.run.test_joined import REPAIRED
from tests.served import Server
from tests.started import starts

from .editor import Editor, applied, capabilities, drive, edits_of

Run = Callable[..., subprocess.CompletedProcess[bytes]]
ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "docs/example/train.py").read_text()
UNSAFE = (ROOT / "fixtures/GF205-non-leaf-parameter/unsafe_log_scale/before.py").read_text()
EVERYWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
FIX_ALL = "source.fixAll.graphfix"


@pytest.fixture
def words(server: Server) -> list[str]:
    return [*starts(server.address), "server"]


def places(diagnostics: list[lsp.Diagnostic] | tuple[lsp.Diagnostic, ...]) -> list[tuple[object, int, int, int, int]]:
    return [
        (one.code, one.range.start.line, one.range.start.character, one.range.end.line, one.range.end.character)
        for one in diagnostics
    ]


def test_a_finding_is_told_with_its_story_and_its_rule(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open("train.py", EXAMPLE)
        carried, total = await editor.diagnostics("train.py")
        assert places([carried, total]) == [("GF201", 14, 4, 14, 22), ("GF101", 19, 4, 19, 17)]
        assert carried.message == "`h` brings the graph of the previous iteration into this one"
        assert (carried.severity, carried.source, carried.tags) == (lsp.DiagnosticSeverity.Error, "graphfix", None)
        assert carried.code_description is not None and carried.code_description.href.endswith("/docs/rules/GF201.md")
        assert carried.related_information is not None and total.related_information is not None
        assert [one.message.partition(" ")[0] for one in carried.related_information] == ["(1)", "(2)", "(3)", "(4)"]
        assert [one.location.range.start.line for one in carried.related_information] == [14, 17, 14, 17]
        assert {one.location.uri for one in carried.related_information} == {editor.uri("train.py")}
        # without an order of time there are no numbers
        assert total.related_information[0].message == "every iteration adds its graph to those of all earlier iterations"
        assert editor.logged == []

    drive(words, tmp_path, act)


def test_what_shows_nothing_in_a_name_is_told_in_plain_letters(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        text = loops.total.replace("total", "t\u3164l")
        editor.open("x.py", text)
        (found,) = await editor.diagnostics("x.py")
        assert found.message.startswith("`t\\u1160l` keeps the graph")
        (action,) = await editor.fixes("x.py", found.range, [lsp.CodeActionKind.QuickFix])
        assert applied(text, edits_of(action)) == loops.total_fixed.replace("total", "t\u3164l")

    drive(words, tmp_path, act)


def test_the_buffer_counts_and_not_the_disk(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    (tmp_path / "x.py").write_text(loops.total)

    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.clean)
        assert await editor.diagnostics("x.py") == ()
        editor.change("x.py", loops.legacy)
        assert [one.code for one in await editor.diagnostics("x.py")] == ["GF901"]
        editor.change("x.py", loops.legacy_fixed)
        assert await editor.diagnostics("x.py") == ()

    drive(words, tmp_path, act)


def test_a_quick_fix_has_the_edits_of_its_fix_alone(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.both)
        legacy, total = await editor.diagnostics("x.py")
        (action,) = await editor.fixes("x.py", total.range, [lsp.CodeActionKind.QuickFix])
        assert (action.title, action.kind, action.is_preferred) == ("store `loss.item()`", lsp.CodeActionKind.QuickFix, True)
        assert list(action.diagnostics or ()) == [total]
        assert applied(loops.both, edits_of(action)) == loops.both.replace("total += loss", "total += loss.item()")
        assert action.edit is not None and action.edit.document_changes is not None
        (change,) = action.edit.document_changes
        assert isinstance(change, lsp.TextDocumentEdit) and change.text_document.version == 1
        assert len(await editor.fixes("x.py", EVERYWHERE, [lsp.CodeActionKind.QuickFix])) == 2
        assert await editor.actions("x.py", lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1)), ["quickfix"]) == []
        assert legacy.range != total.range

    drive(words, tmp_path, act)


@pytest.mark.parametrize(
    "change",
    [str, lambda text: text.replace("\n", "\r\n"), lambda text: text.rstrip("\n"), lambda text: "\f\n" + text],
    ids=["as it is", "crlf", "no newline at the end", "form feed"],
)
def test_fix_all_makes_the_bytes_that_apply_writes(
    tmp_path: Path, words: list[str], graphfix: Run, change: Callable[[str], str]
) -> None:
    text = change(EXAMPLE.replace("print(total", "# ü 🔥\nprint(total"))
    made: list[str] = []

    async def act(editor: Editor) -> None:
        editor.open("train.py", text)
        await editor.diagnostics("train.py")
        for only in ([FIX_ALL], ["source.fixAll"], ["source"]):
            (action,) = await editor.actions("train.py", EVERYWHERE, only)
            assert action.kind == FIX_ALL
        made.append(applied(text, edits_of(action)))
        assert [one.kind for one in await editor.fixes("train.py", EVERYWHERE)] == ["quickfix", "quickfix", FIX_ALL]
        assert await editor.actions("train.py", EVERYWHERE, ["source.fixAll.other", "refactor"]) == []
        editor.change("train.py", made[0])
        assert await editor.diagnostics("train.py") == ()
        assert await editor.actions("train.py", EVERYWHERE) == []

    drive(words, tmp_path, act)
    (tmp_path / "train.py").write_bytes(text.encode())
    assert graphfix("apply", "--isolated", "train.py").returncode == 0
    assert (tmp_path / "train.py").read_bytes() == made[0].encode()


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff# 🔥\n" + text])
def test_a_finding_can_be_disabled_for_its_line(tmp_path: Path, words: list[str], change: Callable[[str], str]) -> None:
    text = change(EXAMPLE.replace("total += loss", "total += loss  # 🔥"))

    async def act(editor: Editor) -> None:
        editor.open("train.py", text)
        carried, total = await editor.diagnostics("train.py")
        offered = await editor.actions("train.py", total.range, ["quickfix"])
        action = next(action for action in offered if action.title == "Disable GF101 for this line")
        assert list(action.diagnostics or ()) == [total] and not action.is_preferred
        made = applied(text, edits_of(action))
        assert made == text.replace("total += loss  # 🔥", "total += loss  # 🔥  # graphfix: ignore[GF101]")
        editor.change("train.py", made)
        assert [one.code for one in await editor.diagnostics("train.py")] == ["GF201"]

    drive(words, tmp_path, act)


def test_an_unsafe_fix_says_so_and_is_in_no_fix_of_all(tmp_path: Path, words: list[str]) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", UNSAFE)
        assert await editor.diagnostics("x.py")
        (action,) = await editor.fixes("x.py", EVERYWHERE)
        assert action.title.endswith(" (unsafe)")
        assert not action.is_preferred
        assert await editor.actions("x.py", EVERYWHERE, [FIX_ALL]) == []

    drive(words, tmp_path, act)


def test_edits_have_no_version_where_the_editor_takes_none(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.total)
        (action,) = await editor.fixes("x.py", EVERYWHERE, ["quickfix"])
        assert action.edit is not None and list(action.edit.changes or {}) == [editor.uri("x.py")]
        assert applied(loops.total, edits_of(action)) == loops.total_fixed

    drive(words, tmp_path, act, capabilities(versioned=False))


@pytest.mark.parametrize(("encoding", "width"), [("utf-16", 2), ("utf-8", 4), ("utf-32", 1), (None, 2)])
def test_columns_are_counted_as_the_editor_counts(
    tmp_path: Path, words: list[str], loops: SimpleNamespace, encoding: str | None, width: int
) -> None:
    text = loops.total.replace("    total += loss", "    note = '🔥'; total += loss")

    async def act(editor: Editor) -> None:
        editor.open("x.py", text)
        (found,) = await editor.diagnostics("x.py")
        start = len("    note = ''; ") + width
        assert places([found]) == [("GF101", 12, start, 12, start + len("total += loss"))]
        (action,) = await editor.fixes("x.py", found.range, ["quickfix"])
        (edit,) = edits_of(action)
        assert edit.range.end.character == start + len("total += loss")

    drive(words, tmp_path, act, capabilities([encoding] if encoding else ()))


def test_hover_shows_the_page_of_the_rule(tmp_path: Path, words: list[str], loops: SimpleNamespace, graphfix: Run) -> None:
    page = graphfix("rule", "GF101").stdout.decode().rstrip()

    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.total)
        (found,) = await editor.diagnostics("x.py")
        shown = await editor.hover("x.py", found.range.start)
        assert shown is not None and isinstance(shown.contents, lsp.MarkupContent)
        assert (shown.contents.kind, shown.contents.value, shown.range) == (lsp.MarkupKind.Markdown, page, found.range)
        assert await editor.hover("x.py", lsp.Position(0, 0)) is None

    drive(words, tmp_path, act)


def test_a_text_that_does_not_parse_has_nothing_of_ours(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.total)
        assert await editor.diagnostics("x.py")
        for text in (loops.total + "def f(:\n", "\0", "(" * 5000, "# coding: latin-1\n日 = 1\n"):
            editor.change("x.py", text)
            assert await editor.diagnostics("x.py") == ()
            assert await editor.actions("x.py", EVERYWHERE) == []
        editor.change("x.py", loops.total)
        assert await editor.diagnostics("x.py")
        assert editor.logged == []

    drive(words, tmp_path, act)


@pytest.mark.parametrize("head", ["# coding: latin-1\n# é\n", "\ufeff"])
def test_a_text_may_name_its_encoding(tmp_path: Path, words: list[str], loops: SimpleNamespace, head: str) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", head + loops.total)
        (found,) = await editor.diagnostics("x.py")
        assert found.range.start.line == 12 + head.count("\n")
        (action,) = await editor.actions("x.py", EVERYWHERE, [FIX_ALL])
        assert applied(head + loops.total, edits_of(action)) == head + loops.total_fixed

    drive(words, tmp_path, act)


def test_a_closed_document_has_nothing_told_of_it(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.py", loops.total)
        assert await editor.diagnostics("x.py")
        editor.close("x.py")
        await editor.until(lambda: not editor.told[editor.uri("x.py")][-1].diagnostics)
        assert await editor.actions("x.py", EVERYWHERE) == []

    drive(words, tmp_path, act)


def test_only_python_is_looked_at(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        editor.open("x.md", loops.total, "markdown")
        editor.open("x.ipynb", "{}", "json")
        editor.open("script", loops.total, "python")
        assert await editor.diagnostics("script")
        assert list(editor.told) == [editor.uri("script")]

    drive(words, tmp_path, act)


def test_names_of_files_may_be_anything(tmp_path: Path, words: list[str], loops: SimpleNamespace) -> None:
    async def act(editor: Editor) -> None:
        name = "a b#é?%41.py"
        editor.open(name, loops.total)
        (found,) = await editor.diagnostics(name)
        assert found.related_information is not None
        assert {one.location.uri for one in found.related_information} == {editor.uri(name)}

    drive(words, tmp_path, act)


def test_a_fix_over_several_files_edits_all_of_them(tmp_path: Path, words: list[str]) -> None:
    for name, text in PROGRAM.items():
        (tmp_path / name).write_text(text)

    async def offered(editor: Editor) -> list[lsp.CodeAction]:
        return [each for each in await editor.actions("penalty.py", EVERYWHERE) if each.title.startswith("store")]

    async def act(editor: Editor) -> None:
        editor.open("penalty.py", PROGRAM["penalty.py"])
        assert [one.code for one in await editor.diagnostics("penalty.py")] == ["GF101"]
        (fix,) = await offered(editor)
        assert fix.edit is not None and fix.edit.document_changes is not None
        changes = [change for change in fix.edit.document_changes if isinstance(change, lsp.TextDocumentEdit)]
        versions = {change.text_document.uri: change.text_document.version for change in changes}
        assert versions == {editor.uri("penalty.py"): 1, editor.uri("engine.py"): None}
        for change in changes:
            name = change.text_document.uri.rpartition("/")[2]
            assert applied(PROGRAM[name], [each for each in change.edits if isinstance(each, lsp.TextEdit)]) == REPAIRED[name]
        # what somebody writes into another file is not what the fix was worked out for
        editor.open("engine.py", PROGRAM["engine.py"] + "# more\n")
        await editor.diagnostics("engine.py")
        assert await offered(editor) == []

    drive(words, tmp_path, act)

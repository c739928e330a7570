"""Where things are, as an editor is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from graphfix.model import Finding, Label, Span
from graphfix.server.diagnostics import diagnostic
from graphfix.server.places import ModulePlaces, offset_of, path_of, uri_of
from graphfix.source.text import Source

UTF16 = lsp.PositionEncodingKind.Utf16


def test_a_story_leads_into_other_files(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("'🔥'; x\n")
    source = Source(tmp_path / "own.py", "y\n")
    story = (
        Label(str(source.path), Span(0, 1), "here", 2),
        Label(str(tmp_path / "other.py"), Span(8, 9), "there", 1),
        Label(str(tmp_path / "gone.py"), Span(0, 1), "nowhere", 3),
    )
    finding = Finding("GF101", "name", "message", str(source.path), Span(0, 1), story)
    told = diagnostic(finding, ModulePlaces("file:///client/own.py", source, UTF16, marked=False)).related_information
    assert told is not None
    assert [(step.message, step.location.uri, step.location.range.start.character) for step in told] == [
        ("(2) here", "file:///client/own.py", 0),
        ("(1) there", (tmp_path / "other.py").as_uri(), 6),
        ("no fix: no edit is certain to keep the results", "file:///client/own.py", 0),
        ("help: see `graphfix rule GF101`", "file:///client/own.py", 0),
    ]


def test_the_mark_of_a_document_counts_on_its_first_line() -> None:
    source = Source(Path("/x.py"), "ab\nc\n")
    for encoding, width in (("utf-16", 1), ("utf-8", 3), ("utf-32", 1)):
        places = ModulePlaces("file:///x.py", source, encoding, marked=True)
        assert places.range(Span(1, 4)) == lsp.Range(lsp.Position(0, width + 1), lsp.Position(1, 1))


@pytest.mark.parametrize("name", ["/a b/é.py", "/%41#?.py", "/\udcff.py"])
def test_a_uri_names_the_very_file(name: str) -> None:
    assert path_of(uri_of(name)) == Path(name)


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "vscode-notebook-cell:/x.ipynb#1", "https://e.org/x.py", "file:"])
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert path_of(uri) is None


@pytest.mark.parametrize(
    ("text", "line", "character", "offset"),
    [
        ("ab\ncd", 1, 1, 4),
        ("ab\r\ncd", 1, 0, 4),
        ("ab\rcd", 1, 2, 5),
        ("a\x0cb\u2028c\nd", 1, 0, 6),  # what ends a line of the protocol, and what does not
        ("ab\ncd", 0, 9, 2),
        ("ab\n", 1, 0, 3),
        ("ab", 7, 0, 2),
        ("🔥b", 0, 2, 1),
    ],
)
def test_a_place_of_the_editor_is_a_character(text: str, line: int, character: int, offset: int) -> None:
    assert offset_of(text, lsp.Position(line, character), UTF16) == offset
    if text.startswith("🔥"):
        assert offset_of(text, lsp.Position(line, 4), "utf-8") == offset_of(text, lsp.Position(line, 1), "utf-32") == offset

"""What becomes of fixes: which are offered, and where their edits are."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from graphfix.model import Append, Applicability, Edit, Finding, Fix, Span
from graphfix.run.outcome import Outcome
from graphfix.server.actions import Target, fix_all, is_wanted, quick_fixes
from graphfix.server.documents import Module
from graphfix.server.readings import Text
from graphfix.source.text import Source

from .editor import applied, edits_of

TARGET = Target({"file:///x.py": 3}, versioned=True)
UTF16 = lsp.PositionEncodingKind.Utf16


def module(text: str) -> Module:
    path = Path("/x.py")
    return Module(Text("file:///x.py", path, text, 3), Source(path, text), UTF16)


@pytest.mark.parametrize("applicability", Applicability)
def test_what_is_only_shown_is_not_offered(applicability: Applicability) -> None:
    span = Span(0, 1)
    fix = Fix(applicability, "do", (Append(span, ".b"),))
    finding = Finding("GF101", "name", "message", "/x.py", span, fix=fix)
    source = Source(Path("/x.py"), "a\n")
    outcome = Outcome(source.path, findings=(finding,), source=source, edits=((Edit(Span(1, 1), ".b"),),))
    where = lsp.Location("file:///x.py", lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)))
    titles = [action.title for action in quick_fixes(outcome, module(source.text), TARGET, where)]
    assert titles == {"safe": ["do"], "unsafe": ["do (unsafe)"], "display": []}[applicability.value]


def test_both_of_two_repairs_are_offered() -> None:
    span = Span(0, 1)
    fixes = [Fix(Applicability.UNSAFE, text, (Append(span, text),), doubt="?") for text in (".a", ".b")]
    finding = Finding("GF101", "name", "message", "/x.py", span, fix=fixes[0], another=fixes[1])
    source = Source(Path("/x.py"), "a\n")
    edits = [((Edit(Span(1, 1), text),),) for text in (".a", ".b")]
    outcome = Outcome(source.path, findings=(finding,), source=source, edits=edits[0], others=edits[1])
    where = lsp.Location("file:///x.py", lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)))
    offered = list(quick_fixes(outcome, module(source.text), TARGET, where))
    assert [action.title for action in offered] == [".a (unsafe)", ".b (unsafe)"]
    assert [edits_of(action)[0].new_text for action in offered] == [".a", ".b"]


@pytest.mark.parametrize(
    ("kind", "only", "wanted"),
    [
        ("quickfix", None, True),
        ("quickfix", [], True),
        ("quickfix", [""], True),
        ("quickfix", ["quickfix"], True),
        ("quickfix", ["quick"], False),
        ("source.fixAll.graphfix", ["source"], True),
        ("source.fixAll.graphfix", ["source.fixAll"], True),
        ("source.fixAll.graphfix", ["source.fix"], False),
        ("source.fixAll.graphfix", ["source.fixAll.graphfix.more"], False),
    ],
)
def test_a_kind_stands_for_those_below_it(kind: str, only: list[str] | None, wanted: bool) -> None:
    assert is_wanted(kind, only) is wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb\nc", "a\nb\nC"),
        ("a\nb", "a\nb\nc"),
        ("a\nb\n", "a\nb\nc\n"),
        ("a\nb\n", "a\n"),
        ("a\nb", ""),
        ("", "a"),
        ("🔥", "b"),
        ("x\fy\nz\u2028\nc\n", "x\fy\nz\n"),
    ],
)
def test_edits_of_lines_make_the_text_of_the_other(before: str, after: str) -> None:
    assert applied(before, edits_of(fix_all(after, module(before), TARGET))) == after

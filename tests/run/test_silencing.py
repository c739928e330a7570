"""Comments stand where a comment may stand, and silence what they are for."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from graphfix.model import Finding, Span
from graphfix.run.silencing import silenced, with_edits
from graphfix.run.suppression import suppressions


def finding(text: str, part: str, code: str = "GF101") -> Finding:
    start = len(text[: text.index(part)].encode())
    return Finding(code, "accumulated-graph", "message", "x.py", Span(start, start + len(part.encode())))


@pytest.mark.parametrize(
    ("text", "part", "made"),
    [
        ("x = 1\n", "x = 1", "x = 1  # graphfix: ignore[GF101]\n"),
        ("x = 1", "x = 1", "x = 1  # graphfix: ignore[GF101]"),
        ("x = 1\r\ny = 2\r\n", "x = 1", "x = 1  # graphfix: ignore[GF101]\r\ny = 2\r\n"),
        ("x = 1\ry = 2\r", "y = 2", "x = 1\ry = 2  # graphfix: ignore[GF101]\r"),
        ("\fx = 'ü'  # ü\n", "x = 'ü'", "\fx = 'ü'  # ü  # graphfix: ignore[GF101]\n"),
        ("f(\n    1,\n)\n", "f(\n    1,\n)", "f(  # graphfix: ignore[GF101]\n    1,\n)\n"),
        ("f('''\n''')\n", "f('''\n''')", "f('''\n''')  # graphfix: ignore[GF101]\n"),
        ("x = 1 + \\\n    2\n", "x = 1 + \\\n    2", "x = 1 + \\\n    2  # graphfix: ignore[GF101]\n"),
        ("x = 1  # graphfix: ignore[GF2] why\n", "x = 1", "x = 1  # graphfix: ignore[GF2, GF101] why\n"),
        ("x = 1  # noqa: F401\n", "x = 1", "x = 1  # noqa: F401  # graphfix: ignore[GF101]\n"),
        ("x = '# graphfix: ignore[GF2]'\n", "x =", "x = '# graphfix: ignore[GF2]'  # graphfix: ignore[GF101]\n"),
    ],
)
def test_a_comment_stands_on_the_first_or_the_last_line(text: str, part: str, made: str) -> None:
    comments = silenced(text, [finding(text, part)])
    assert (with_edits(text, comments.edits), comments.left) == (made, ())
    found = finding(made, part[:1])
    found = replace(found, span=Span(found.span.start, len(made.rstrip().encode())))
    assert suppressions(made).silences(found)
    assert ast.dump(ast.parse(made)) == ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f('''\n{x}\n''')\n", "{x}"),
        ("f(f'''\n{\nx\n}\n''')\n", "x"),
        ("y = 1 + \\\n    x + \\\n    2\n", "x"),
    ],
)
def test_what_has_no_room_is_left(text: str, part: str) -> None:
    found = finding(text, part)
    assert (silenced(text, [found]).edits, silenced(text, [found]).left) == ((), (found,))


def test_findings_on_one_line_share_a_comment() -> None:
    text = "x = 1; y = 2\n"
    comments = silenced(text, [finding(text, "x = 1"), finding(text, "y = 2", "GF201"), finding(text, "y = 2")])
    assert with_edits(text, comments.edits) == "x = 1; y = 2  # graphfix: ignore[GF101, GF201]\n"


@pytest.mark.parametrize(
    ("comment", "silences"),
    [
        ("# noqa", True),
        ("# NOQA", True),
        ("#noqa", True),
        ("# why  # noqa", True),
        ("# noqa - it is a number here", True),
        ("# noqa: GF101", True),
        ("# noqa: F401", False),
        ("# noqa : F401", False),
        ("# noqa:", False),
        ("# noqa: it is a number", False),
        ("# noqar", False),
        ("# type: ignore", False),
    ],
)
def test_a_bare_noqa_is_heeded_and_one_for_other_tools_is_not(comment: str, silences: bool) -> None:
    text = f"total += loss  {comment}\n"
    found = suppressions(text)
    assert found.silences(finding(text, "total += loss")) is silences
    # what may be there for another tool is never in vain
    assert found.unused([]) == ([(0, "GF101")] if "GF" in comment else [])

from __future__ import annotations

import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from graphfix.model import Append, Applicability, Edit, Finding, Fix, Label, Span, in_time
from graphfix.report.escape import escaped, typed
from graphfix.report.text import UNBROKEN, Line, concise, indexes_of, story, with_short_code
from graphfix.source.lines import LineIndex
from graphfix.source.text import Source

CODE = """\
for x in data:
        out, h = rnn(x, h)
        loss = out.sum()
        loss.backward()
"""


def at(text: str, part: str, after: str = "") -> Span:
    start = text.index(part, text.index(after))
    before = len(text[:start].encode())
    return Span(before, before + len(part.encode()))


def finding(text: str, span: Span, *story_: tuple[Span, str], path: str = "train.py") -> Finding:
    labels = tuple(Label(path, where, message) for where, message in story_)
    fix = Fix(Applicability.SAFE, "detach `h` where it enters the iteration", (Append(span, ""),))
    message = "`h` brings the graph of the previous iteration into this one"
    return Finding("GF201", "carried-state", message, path, span, labels, fix)


def told(found: Finding, text: str, cells: int = UNBROKEN) -> list[str]:
    return [plain(line) for line in story(found, indexes_of(Source(Path(found.path), text)), cells=cells)]


def plain(line: Line) -> str:
    return "".join(piece.text for piece in line)


def test_a_finding_tells_its_story_as_the_design_shows() -> None:
    text = "\n" * 29 + CODE.replace("        loss = out.sum()\n", "\n\n\n")
    found = finding(
        text,
        at(text, "rnn(x, h)"),
        (at(text, "h", "x, "), "iteration 2 reads the `h` that iteration 1 made here"),
        (at(text, "loss.backward()"), "iteration 1 frees that graph; in iteration 2 backward() meets it again and raises"),
    )
    assert "\n".join(told(found, text)) == (
        """\
error[GF201] carried-state: `h` brings the graph of the previous iteration into this one
  --> train.py:31:18
   |
31 |         out, h = rnn(x, h)
   |                         ^ iteration 2 reads the `h` that iteration 1 made here
...
35 |         loss.backward()
   |         --------------- iteration 1 frees that graph; in iteration 2 backward() meets it again and raises
   = fix (safe): detach `h` where it enters the iteration"""
    )


def test_steps_are_numbered_by_time_and_stand_where_they_happen() -> None:
    told_in_time = in_time(
        Label("train.py", at(CODE, "out, h"), "made"),
        Label("train.py", at(CODE, "loss.backward()"), "freed"),
        Label("train.py", at(CODE, "rnn(x, h)"), "read"),
        Label("train.py", at(CODE, "loss.backward()"), "met"),
    )
    found = replace(finding(CODE, at(CODE, "out, h")), story=(*told_in_time, Label("train.py", Span(0, 3), "a remark")))
    assert [line.strip(" |") for line in told(found, CODE)[3:]][1:8] == [
        "^^^^^^ (1) made",
        "--------- (3) read",
        "...",
        "4 |         loss.backward()",
        "--------------- (2) freed",
        "(4) met",
        "...",
    ]


def test_a_single_step_needs_no_number() -> None:
    assert in_time(Label("a.py", Span(0, 1), "made"))[0].step == 0


def test_what_has_no_fix_says_why() -> None:
    found = finding(CODE, at(CODE, "rnn(x, h)")).without_fix("it is seen by callers only")
    assert [plain(line) for line in story(found, indexes_of(Source(Path("train.py"), CODE)), explained=True)][-2:] == [
        "  = no fix: it is seen by callers only",
        "  = help: see `graphfix rule GF201`",
    ]


def test_without_a_story_the_statement_is_marked() -> None:
    assert told(finding(CODE, at(CODE, "loss.backward()")), CODE)[3:5] == [
        "4 |         loss.backward()",
        "  |         ^^^^^^^^^^^^^^^",
    ]


@pytest.mark.parametrize(
    ("line", "part", "shown", "marks"),
    [
        ("\tx = h", "h", "    x = h", "        ^"),
        ("x = '\u65e5' + h", "h", "x = '\u65e5' + h", "           ^"),
        ("x = '\u00e9' + h", "h", "x = '\u00e9' + h", "          ^"),
        ("x = '\x1b[31m' + h", "h", "x = '\\x1b[31m' + h", "                 ^"),
        ("x = '\u202e' + h", "h", "x = '\\u202e' + h", "               ^"),
        ("h", "h", "h", "^"),
    ],
)
def test_marks_stand_below_what_they_mark(line: str, part: str, shown: str, marks: str) -> None:
    text = line + "\n"
    assert told(finding(text, at(text, part, "'" if "'" in line else "")), text)[3:5] == [
        f"1 | {shown}",
        f"  | {marks}",
    ]


def test_a_span_over_several_lines_is_marked_on_its_first() -> None:
    text = "x = f(  \r\n    h,\r\n)\r\n"
    assert told(finding(text, Span(4, len(text) - 2)), text)[3:5] == ["1 | x = f(", "  |     ^^"]


def test_two_labels_on_one_line_show_it_once() -> None:
    found = finding(CODE, at(CODE, "rnn(x, h)"), (at(CODE, "rnn"), "one"), (at(CODE, "out"), "two"))
    assert [line[:3] for line in told(found, CODE)[3:6]] == ["2 |", "  |", "  |"]


def test_a_label_in_another_file_shows_that_file(tmp_path: Path) -> None:
    other = tmp_path / "net.py"
    other.write_text("def forward(h):\n    return h\n")
    label = Label(str(other), Span(20, 28), "made here")
    found = Finding("GF201", "carried-state", "message", "train.py", at(CODE, "rnn(x, h)"), (label,))
    assert told(found, CODE)[3:-2] == [f"  {other}:2", "2 |     return h", "  |     ^^^^^^^^ made here"]
    other.unlink()
    assert told(found, CODE)[3:-2] == [f"  {other}: made here"]


def test_a_very_long_line_is_shown_around_the_mark() -> None:
    text = f"x = [{'1, ' * 2000}h, {'1, ' * 2000}]\n"
    lines = told(finding(text, at(text, "h,")), text)
    assert max(map(len, lines[3:5])) < 180
    assert lines[3][lines[4].index("^") :].startswith("h,")


def test_concise_is_one_line_with_a_star_for_safe_fixes() -> None:
    found = finding(CODE, at(CODE, "rnn(x, h)"))
    assert plain(concise(found, LineIndex(CODE))) == (
        "train.py:2:18: GF201 [*] `h` brings the graph of the previous iteration into this one"
    )


def test_names_cannot_forge_output() -> None:
    found = finding(CODE, at(CODE, "rnn(x, h)"), path="a\nb\x1b[2Jc\udcff.py")
    assert plain(concise(found, LineIndex(CODE))).startswith("a\\x0ab\\x1b[2Jc\\xff.py:2:18:")
    assert escaped("\x9b\u2066\u2028\r") == "\\x9b\\u2066\\u2028\\x0d"


def test_no_character_that_shows_nothing_is_shown_as_it_is() -> None:
    hidden = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert [char for char in hidden if not escaped(char).isascii()] == []
    assert escaped("a\u3164\ufe00\U000e0100") == "a\\u3164\\ufe00\\U000e0100"  # a letter, and selectors of variants
    seen = "\u26a0\ufe0f \u00e9 \u0301 \u3000 \U0001d11e"
    assert escaped(seen) == seen
    assert typed("a\U000e0061") == "$'a\\xf3\\xa0\\x81\\xa1'"


def test_what_does_not_fit_beside_the_marks_stands_below_them() -> None:
    found = finding(CODE, at(CODE, "loss.backward()"), (at(CODE, "loss.backward()"), "a message " * 8))
    lines = told(found, CODE, 60)
    assert all(len(line) <= 60 for line in lines[1:])
    assert lines[4].endswith("^") and "a message" in lines[5]


@pytest.mark.parametrize("cells", [60, 80, 120])
def test_a_message_begins_below_its_mark(cells: int) -> None:
    found = finding(CODE, at(CODE, "loss.backward()"), (at(CODE, "loss.backward()"), "message " * 16))
    marks, *message = told(found, CODE, cells)[4:-1]
    assert {line.index("message") for line in message} == {marks.index("^")}
    assert all(len(line) <= cells for line in message) and len(message) > 1


def test_a_message_of_a_mark_far_to_the_right_begins_left_of_it() -> None:
    text = f"{'x' * 45} = h\n"
    found = finding(text, at(text, "h"), (at(text, "h"), "a message " * 8))
    assert all(len(line) <= 60 for line in told(found, text, 60)[1:-1]) and len(told(found, text, 60)) == 8


def test_the_line_that_a_fix_makes_is_shown() -> None:
    span = at(CODE, "h = rnn(x, h)")
    edit = Edit(Span(span.start, span.end), "h = rnn(x, h.detach())")
    index = LineIndex(CODE)
    lines = ["".join(piece.text for piece in line) for line in story(finding(CODE, span), lambda path: index, (edit,))]
    assert lines[-1].endswith("h = rnn(x, h.detach())") and lines[-1].split()[1] == "+"


def test_each_line_that_a_fix_makes_is_shown_where_they_are_few() -> None:
    index = LineIndex(CODE)
    first, second = at(CODE, "h = rnn(x, h)"), at(CODE, "loss.backward()")
    top = CODE.rindex("\n", 0, first.start) + 1
    edits = (Edit(second, "loss.sum().backward()"), Edit(Span(top, top), "h = 0\r\n"))
    for made in (edits, (*edits, Edit(Span(first.start, first.end), "more\nlines\n"))):
        lines = ["".join(piece.text for piece in line) for line in story(finding(CODE, second), lambda path: index, made)]
        added = [line.split("+ ", 1)[1] for line in lines if "+ " in line]
        assert [line.strip() for line in added] == (["h = 0", "loss.sum().backward()"] if made is edits else [])


def test_all_edits_of_one_line_are_shown_in_it() -> None:
    index = LineIndex(CODE)
    first, second = at(CODE, "x, h"), at(CODE, "out, h")
    edits = (Edit(Span(first.end, first.end), ".detach()"), Edit(Span(second.start, second.start + 3), "y"))
    lines = ["".join(piece.text for piece in line) for line in story(finding(CODE, first), lambda path: index, edits)]
    assert lines[-1] == "2 +         y, h = rnn(x, h.detach())"


def test_what_a_fix_removes_of_a_line_is_not_in_it() -> None:
    index = LineIndex(CODE)
    removed = at(CODE, "x, ")
    lines = ["".join(piece.text for piece in line) for line in story(finding(CODE, removed), lambda path: index, (Edit(removed, ""),))]
    assert lines[-1] == "2 +         out, h = rnn(h)"


def test_only_code_is_shortened_and_not_what_stands_between() -> None:
    between = "a sentence between two names that is longer than the code that a headline may show"
    assert with_short_code(f"`a` {between} `b`") == f"`a` {between} `b`"
    assert with_short_code(f"`{'x' * 80}` is long") == f"`{'x' * 25}...{'x' * 25}` is long"


def test_a_mark_far_below_the_line_of_the_finding_stands_under_both() -> None:
    text = "print(\n    step,\n    loss.data[0],\n)\n"
    found = finding(text, Span(0, len(text) - 1), (at(text, "loss.data[0]"), "no element 0"))
    assert told(found, text)[1:6] == [
        "  --> train.py:1:1",
        "  |",
        "1 | print(",
        "...",
        "3 |     loss.data[0],",
    ]

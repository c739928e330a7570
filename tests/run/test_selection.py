from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.model import Append, Applicability, Finding, Fix, Span
from graphfix.run.selection import UnknownCode, Wanted, parse_codes

KNOWN = ["GF101", "GF102", "GF201", "GF901"]


def finding_at(text: str, part: str, code: str = "GF101") -> Finding:
    start = text.index(part)
    return Finding(code, "name", "message", "x.py", Span(start, start + len(part)))


def test_codes_are_split_at_commas_and_case_is_free() -> None:
    assert parse_codes(["gf1,GF201", "GF9"], KNOWN) == ("GF1", "GF201", "GF9")


def test_an_unknown_code_comes_with_a_suggestion() -> None:
    with pytest.raises(UnknownCode, match=r"^unknown rule code 'G101', did you mean GF101\?$"):
        parse_codes(["G101"], KNOWN)


@pytest.mark.parametrize(
    ("select", "ignore", "selected"),
    [
        ((), (), KNOWN),
        (("GF1",), (), ["GF101", "GF102"]),
        ((), ("GF1",), ["GF201", "GF901"]),
        (("GF1",), ("GF101",), ["GF102"]),
        (("GF101",), ("GF1",), ["GF101"]),
        (("GF101",), ("GF101",), []),
    ],
)
def test_the_longer_prefix_wins(select: tuple[str, ...], ignore: tuple[str, ...], selected: list[str]) -> None:
    wanted = Wanted(select, ignore)
    assert [code for code in KNOWN if wanted.selects(code)] == selected


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# graphfix: ignore", True),
        ("#graphfix:ignore[GF101]", True),
        ("# graphfix: ignore[GF201, GF101] on purpose", True),
        ("# noqa: GF101", True),
        ("# NOQA: E501, GF101", True),
        ("# text # noqa: GF101", True),
        ("# graphfix: ignore[GF201]", False),
        ("# graphfix: ignore[]", False),
        ("# graphfix: ignored", False),
        ("# noqa: E501", False),
        ("# noqa", True),
        ("; s = '# graphfix: ignore'", False),
    ],
)
def test_comments_silence_what_they_name(comment: str, silent: bool) -> None:
    text = f"a = 1\ntotal += loss  {comment}\nb = 1\n" if not comment.startswith(";") else f"total += loss{comment}\n"
    visible = Wanted().visible(text, [finding_at(text, "loss")])
    assert not visible == silent


def test_a_comment_on_the_last_line_of_a_statement_counts() -> None:
    text = "f(\n    loss,\n)  # noqa: GF101\n"
    assert Wanted().visible(text, [finding_at(text, "f(\n    loss,\n)")]) == []


def test_rows_of_comments_are_right_with_lone_carriage_returns() -> None:
    text = "a = 1\rtotal += loss  # graphfix: ignore\rtotal += x\r"
    kept = finding_at(text, "total += x")
    assert Wanted().visible(text, [finding_at(text, "loss"), kept]) == [kept]


def test_a_file_is_skipped_on_request() -> None:
    text = "total += loss\n# graphfix: skip-file\n"
    assert Wanted().visible(text, [finding_at(text, "loss")]) == []


@pytest.mark.parametrize(
    ("applicability", "unsafe", "applied"),
    [
        (Applicability.SAFE, False, True),
        (Applicability.UNSAFE, False, False),
        (Applicability.UNSAFE, True, True),
        (Applicability.DISPLAY, True, False),
    ],
)
def test_unsafe_fixes_are_applied_on_request_and_shown_ones_never(
    applicability: Applicability, unsafe: bool, applied: bool
) -> None:
    fix = Fix(applicability, "title", (Append(Span(0, 1), ".item()"),))
    assert Wanted(unsafe=unsafe).applies(fix) == applied


@pytest.mark.parametrize(
    ("select", "ignore", "seen"),
    [
        ((), (), False),
        (("GF9",), (), True),
        (("GF901",), (), True),
        (("GF1",), (), False),
        ((), ("GF1",), False),
        (("GF9",), ("GF901",), False),
    ],
)
def test_optional_findings_have_to_be_asked_for(select: tuple[str, ...], ignore: tuple[str, ...], seen: bool) -> None:
    text = "total += loss\n"
    found = replace(finding_at(text, "loss", "GF901"), optional=True)
    assert (Wanted(select, ignore).visible(text, [found]) == [found]) is seen

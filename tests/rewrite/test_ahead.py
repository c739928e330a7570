"""Findings that only the repair of others shows."""

from __future__ import annotations

from graphfix.model import Applicability, Finding, Fix, Label, Replace, Span
from graphfix.rewrite.ahead import revealed
from graphfix.rewrite.fixpoint import Repaired, Step
from graphfix.rewrite.origin import original_span

FIRST = "a = one\nb = two\n"
SECOND = "import x\na = ten + one\nb = two\n"


def finding(text: str, part: str, code: str = "GF101") -> Finding:
    start = text.index(part)
    span = Span(start, start + len(part))
    fix = Fix(Applicability.SAFE, "repair it", (Replace(span, "three"),))
    return Finding(code, "name", "message", "x.py", span, (Label("x.py", span, "here"),), fix)


def told(done: Repaired) -> list[tuple[str, str]]:
    return [(found.code, FIRST[found.span.start : found.span.end]) for found in revealed(FIRST, done)]


def passes(first: list[Finding], fixed: list[Finding], left: list[Finding]) -> Repaired:
    return Repaired(SECOND, tuple(fixed), steps=(Step(FIRST, tuple(fixed), tuple(first)),), found=tuple(left))


def test_what_was_there_before_is_not_told_again() -> None:
    one, two = finding(FIRST, "a = one"), finding(FIRST, "b = two")
    assert told(passes([one, two], [one], [finding(SECOND, "b = two")])) == []


def test_what_a_repair_brings_to_light_is_told_where_it_stands_now() -> None:
    one = finding(FIRST, "a = one")
    assert told(passes([one], [one], [finding(SECOND, "b = two")])) == [("GF101", "b = two")]


def test_another_fault_of_the_repaired_statement_is_told() -> None:
    one = finding(FIRST, "a = one")
    assert told(passes([one], [one], [finding(SECOND, "a = ten + one")])) == [("GF101", "a = one")]


def test_another_rule_at_the_same_place_is_told() -> None:
    one, two = finding(FIRST, "a = one"), finding(FIRST, "b = two")
    assert told(passes([one, two], [one], [finding(SECOND, "b = two"), finding(SECOND, "b = two", "GF904")])) == [
        ("GF904", "b = two")
    ]


def test_its_story_lies_in_the_text_as_it_is_and_its_fix_has_no_operations() -> None:
    one = finding(FIRST, "a = one")
    (found,) = revealed(FIRST, passes([one], [one], [finding(SECOND, "b = two")]))
    assert found.story[0].span == found.span
    assert found.fix == Fix(Applicability.SAFE, "repair it, after the other fixes are applied", ())


def test_nothing_is_revealed_where_nothing_was_repaired() -> None:
    one = finding(FIRST, "a = one")
    assert list(revealed(FIRST, Repaired(FIRST, found=(one,)))) == []


def test_places_are_followed_back() -> None:
    def back(before: str, after: str, part: str) -> str:
        start = after.index(part)
        span = original_span(before, after, Span(start, start + len(part)))
        return before[span.start : span.end]

    assert back("x = y\n", "x = y\n", "y") == "y"
    assert back("x = f(y)\n", "x = f(y.item())\n", "y.item()") == "y"
    assert back("x = f(y)\n", "x = f(y.item())\n", "x = f(y.item())") == "x = f(y)"
    assert back("a\nb\n", "a\nnew\nb\n", "b") == "b"
    assert back("a", "a.item()", "a.item()") == "a"
    assert back("", "a\n", "a") == ""

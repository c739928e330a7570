from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import graphfix.rewrite
import graphfix.run.engine
from graphfix.autograd.health import Health
from graphfix.model import Applicability, Finding, Fix, Replace, Span
from graphfix.rewrite.fixpoint import TURNING, Repaired, repair
from graphfix.run.engine import Analysis
from graphfix.run.selection import Wanted
from graphfix.run.texts import Texts

HERE = Path("x.py").absolute()


def finding_of(text: str, part: str, content: str) -> Finding:
    start = text.index(part)
    span = Span(start, start + len(part))
    fix = Fix(Applicability.SAFE, f"{part} to {content}", (Replace(span, content),))
    return Finding("GF101", "name", "message", str(HERE), span, fix=fix)


def splice(text: str, fixes: Sequence[Fix]) -> SimpleNamespace:
    """A rewriter that believes everything: what the loop must survive."""
    for operation in sorted((fix.operations[0] for fix in fixes), key=lambda op: op.span, reverse=True):
        assert isinstance(operation, Replace)
        text = text[: operation.span.start] + operation.text + text[operation.span.end :]
    return SimpleNamespace(text=text, applied=tuple(fixes), deferred=(), refused=())


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Repaired]:
    """Repairs a text with rules that replace one part by another."""

    monkeypatch.setattr(graphfix.rewrite, "apply_fixes", splice)

    def run(text: str, *pairs: tuple[str, str]) -> Repaired:
        def analyse(path: Path, now: str, *how: object, **more: object) -> Analysis:
            return Analysis(tuple(finding_of(now, part, content) for part, content in pairs if part in now))

        monkeypatch.setattr(graphfix.run.engine, "analyse", analyse)
        return repair(Texts(HERE, ()), text, Wanted())

    return run


def test_nothing_to_fix_is_one_look(rules: Callable[..., Repaired]) -> None:
    assert rules("a = 1\n") == Repaired("a = 1\n")


def test_fixes_that_make_way_for_others_all_get_their_turn(rules: Callable[..., Repaired]) -> None:
    done = rules("a = one\n", ("one", "two"), ("two", "three"))
    assert (done.text, done.passes, len(done.fixed), done.left) == ("a = three\n", 2, 2, ())


def chained(monkeypatch: pytest.MonkeyPatch, text: str, makes_way: bool) -> Repaired:
    """Repairs `outer` and `inner`, where the repair of the one ends the other."""
    monkeypatch.setattr(graphfix.rewrite, "apply_fixes", splice)

    def analyse(path: Path, now: str, *how: object, **more: object) -> Analysis:
        found = {part: finding_of(now, part, f"{part[0]}1") for part in ("outer", "inner") if part in now}
        if "o1" in now and makes_way:
            found.clear()
        if len(found) == 2:
            found["inner"] = replace(found["inner"], ended_by=((found["outer"].code, found["outer"].span),))
        return Analysis(tuple(found.values()))

    monkeypatch.setattr(graphfix.run.engine, "analyse", analyse)
    return repair(Texts(HERE, ()), text, Wanted())


def test_what_another_fix_ends_is_asked_again_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chained(monkeypatch, "a = outer + inner\n", makes_way=True).text == "a = o1 + inner\n"
    assert chained(monkeypatch, "a = outer + inner\n", makes_way=False).text == "a = o1 + i1\n"


def test_a_fix_that_breaks_the_syntax_is_left_out_and_named(rules: Callable[..., Repaired]) -> None:
    done = rules("a = one\nb = two\nc = six\n", ("one", "1"), ("two", "(2"), ("six", "6"))
    assert done.text == "a = 1\nb = two\nc = 6\n"
    assert [(finding.fix.title if finding.fix else "", reason) for finding, reason in done.broken] == [
        ("two to (2", "the fixed code does not parse")
    ]
    assert len(done.left) == 1


def test_fixes_that_break_only_together_are_made_in_turn(rules: Callable[..., Repaired]) -> None:
    done = rules("a = 'one' + 'two'\n", ("'one'", "b"), ("'two'", "c"))
    assert (done.text, done.broken) == ("a = b + c\n", ())


def reasons(done: Repaired) -> list[tuple[str, str]]:
    return [(finding.fix.title, reason) for finding, reason in done.refused if finding.fix is not None]


def test_fixes_that_undo_one_another_are_left_out_and_the_others_made(rules: Callable[..., Repaired]) -> None:
    done = rules("a = one\nb = six\n", ("one", "two"), ("two", "one"), ("six", "6"))
    assert done.text == "a = one\nb = 6\n"
    assert reasons(done) == [("one to two", TURNING)]


def test_a_fix_that_never_comes_to_rest_is_left_out_and_the_others_made(rules: Callable[..., Repaired]) -> None:
    done = rules("a = one\nb = six\n", ("one", "(one)"), ("six", "6"))
    assert done.text == "a = one\nb = 6\n"
    assert reasons(done) == [("one to (one)", TURNING)]


def test_a_fix_that_turns_at_another_place_each_time_costs_its_rule(rules: Callable[..., Repaired]) -> None:
    done = rules("a = one\n", ("one", "0\nb = one"))
    assert done.text == "a = one\n"
    assert reasons(done) == [("one to 0\nb = one", TURNING)]


def test_a_fix_with_which_runs_are_worse_is_found_by_halving_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the others is sound beside it: only the one that makes a number of what is used as a tensor is refused."""
    pairs = [("one", "1"), ("two", "bad"), ("six", "6"), ("ten", "10")]

    def analyse(path: Path, now: str, *how: object, **more: object) -> Analysis:
        found = tuple(finding_of(now, part, content) for part, content in pairs if part in now)
        return Analysis(found, health=Health((), now.count("bad"), 0, False))

    monkeypatch.setattr(graphfix.rewrite, "apply_fixes", splice)
    monkeypatch.setattr(graphfix.run.engine, "analyse", analyse)
    done = repair(Texts(HERE, ()), "a = one\nb = two\nc = six\nd = ten\n", Wanted())
    assert done.text == "a = 1\nb = two\nc = 6\nd = 10\n"
    assert [(finding.fix.title, reason) for finding, reason in done.refused if finding.fix is not None] == [
        ("two to bad", "with it, a number would be used as a tensor")
    ]
    assert {reason for _, reason in done.harmful} == {"with it, a number would be used as a tensor"}

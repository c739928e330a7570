"""Which edits the grammar has for a fault, and how it writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.conflicts import meetings
from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.model import AddArgument, InsertAfter, InsertBefore, Move, Span
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.candidates import candidates
from graphfix.repair.choice import most_tried
from graphfix.repair.parts import is_logged, parts
from graphfix.repair.ranking import rank
from graphfix.repair.recompute import moved_up
from graphfix.repair.trial import Verdict, texts_with, tried
from graphfix.repair.witness import witness_of
from graphfix.run.engine import _evidence

from . import programs as code

START = Span(0, 1)


def shown(folder: Path, program: str) -> tuple[Evidence, list[Candidate]]:
    evidence = evidence_of(folder, program)
    return evidence, list(candidates(evidence, witness_of(evidence.second_backwards[0])))


def evidence_of(folder: Path, program: str) -> Evidence:
    return _evidence(folder / "train.py", code.HEAD + program, (folder,), NO_CONVENTIONS, {})


def test_a_loss_goes_backward_before_what_it_needs_is_stepped(tmp_path: Path) -> None:
    evidence = evidence_of(tmp_path, code.ACTOR)
    (conflict,) = (conflict for meeting in meetings(evidence) for conflict in meeting.conflicts[:1])
    witness = witness_of(conflict)
    (candidate,) = moved_up(evidence, witness)
    assert not tried(evidence, candidate, witness.event.site).refusal
    texts = texts_with(evidence, candidate.operations)
    assert texts is not None
    lines = [line.strip() for line in texts[tmp_path / "train.py"].splitlines()]
    behind = lines.index("actor_loss = -critic(torch.cat([x, actor(x)], 1)).mean()")
    assert lines[behind + 1 : behind + 4] == ["a_opt.zero_grad()", "actor_loss.backward()", "a_opt.step()"]


@pytest.mark.parametrize(
    ("loop", "kept"),
    [
        ("for i, head in enumerate(heads):", "i < len(heads) - 1"),
        ("for i in range(3):\n        head = heads[i]", "i < 3 - 1"),
        ("for head in heads:", "True"),
        ("for i, head in enumerate(heads, 1):", "True"),
    ],
)
def test_the_graph_is_kept_for_all_but_the_last(tmp_path: Path, loop: str, kept: str) -> None:
    _, found = shown(tmp_path, code.TASKS.replace("for i, head in enumerate(heads):", loop))
    (retained,) = (each for each in found if each.effect is Effect.RETAIN)
    (operation,) = retained.operations
    assert isinstance(operation, AddArgument) and operation.value == kept


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        (code.LOGGED, InsertBefore),
        (code.LOGGED.replace("print(float(total) / len(loader))\n", ""), Move),
        (code.WINDOW, InsertAfter),
        (code.TWO_PASSES, InsertBefore),
        (code.MEMORY, Move),
    ],
)
def test_where_something_starts_anew(tmp_path: Path, program: str, kind: type) -> None:
    _, found = shown(tmp_path, program)
    operations = [operation for each in found if each.effect is Effect.RESET for operation in each.operations]
    assert any(isinstance(each, kind) for each in operations)


@pytest.mark.parametrize(
    "start", ["0", "0.0", "-1.0", "None", "[]", "torch.zeros(())", "(torch.zeros(1), 0)", "model(x).sum() * 0"]
)
def test_what_is_computed_is_no_start_value(tmp_path: Path, start: str) -> None:
    text = code.LEAF.replace("torch.zeros((), requires_grad=True)", "0").replace(
        "total = 0\n", f"x = 0\ntotal = 0\nlast = {start}\n"
    )
    text = text.replace("total = total + F.mse_loss(model(x), y)", "last = last = total = total + F.mse_loss(model(x), y)")
    _, found = shown(tmp_path, text)
    titles = {each.title for each in found if each.effect is Effect.RESET}
    assert any("last = " in title for title in titles) is (start != "model(x).sum() * 0"), titles


def test_a_total_that_is_read_behind_the_loop_is_kept(tmp_path: Path) -> None:
    for program, best in (
        (code.LOGGED, Effect.PART),
        (code.LOGGED.replace("print(float(total) / len(loader))\n", ""), Effect.RESET),
    ):
        evidence, found = shown(tmp_path, program)
        witness = witness_of(evidence.second_backwards[0])
        assert is_logged(evidence, witness) is (best is Effect.PART)
        ranked = min(found, key=lambda each: rank(evidence, witness, each, Verdict("", 1), START))
        assert ranked.effect is best


def test_what_trains_more_comes_first(tmp_path: Path) -> None:
    evidence, found = shown(tmp_path, code.TASKS)
    witness = witness_of(evidence.second_backwards[0])
    retained = next(each for each in found if each.effect is Effect.RETAIN)
    cut = next(each for each in found if each.effect is Effect.CUT)
    assert rank(evidence, witness, retained, Verdict("", 2), START) < rank(evidence, witness, cut, Verdict("", 1), START)
    assert rank(evidence, witness, cut, Verdict("", 1), START) < rank(evidence, witness, retained, Verdict("", 1), START)


def test_a_program_that_is_too_large_is_not_tried(tmp_path: Path) -> None:
    evidence, _ = shown(tmp_path, code.LOGGED)
    assert most_tried(evidence) == 40
    evidence.tape.truncated = True
    assert most_tried(evidence) == 0


@pytest.mark.parametrize(
    ("filled", "is_log"),
    [("total += loss", True), ("total += loss\n    total = total + model.weight.norm()", False), ("total += loss * 2", False)],
)
def test_only_a_total_that_one_sum_fills_is_surely_a_log(tmp_path: Path, filled: str, is_log: bool) -> None:
    evidence = evidence_of(tmp_path, code.LOGGED.replace("total = total + loss", filled))
    found = parts(evidence, witness_of(evidence.second_backwards[0]))
    assert any(each.is_reasoned and not each.doubt for each in found) is is_log

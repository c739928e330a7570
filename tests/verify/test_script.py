"""What two runs say of a repair."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.verify.record import Ending, Failure, Run, Walk
from graphfix.verify.script import Trial, Verdict, judge

SECOND = Failure("RuntimeError", "Trying to backward through the graph a second time", "train.py", 9)
MISSING = Failure("FileNotFoundError", "data.csv", "train.py", 2)


def walk(index: int, live: int = 5) -> Walk:
    return Walk(index, "backward", "train.py", 9, live, 10, 5, False, {}, 0, 0, 0, {}, 0.1)


def ran(steps: int, *, live: int = 5, growth: int = 0, first: float = 1.0) -> Run:
    walks = tuple(walk(index, live + growth * index) for index in range(steps))
    losses = tuple((index, first / (index + 1)) for index in range(steps))
    return Run(Ending.FINISHED, 0, walks=walks, walk_count=steps, losses=losses, torch="2.13", stdout="loss 0.5\n", seconds=1.0)


def died(steps: int, failure: Failure = SECOND) -> Run:
    return replace(ran(steps), ending=Ending.FAILED, exit_code=1, failure=failure, stdout="")


def late(steps: int) -> Run:
    return replace(ran(steps), ending=Ending.LATE, exit_code=None, stdout="".join(f"{1 / (n + 1):.4f}\n" for n in range(steps)))


def verdict(before: Run, after: Run, *codes: str) -> tuple[Verdict, str]:
    trial: Trial = judge(before, after, codes)
    return trial.verdict, trial.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [(ran(8), ran(8)), (died(3), ran(8)), (ran(8, growth=2), ran(8)), (late(20), late(14)), (died(1), late(30))],
    ids=["same numbers", "the error is gone", "growth is gone", "both out of time", "error gone, then out of time"],
)
def test_verified(before: Run, after: Run) -> None:
    assert verdict(before, after) == (Verdict.GOOD, "")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (ran(8), ran(8, first=1.1), "other results: the loss of backward pass 1"),
        (died(3), ran(8, first=1.1), "other results"),
        (ran(8), died(4), "the fixed program ends in RuntimeError"),
        (died(3), died(3), "the fixed program still ends in RuntimeError"),
        (ran(8, growth=2), ran(8, growth=2), "the graph still grows"),
        (late(20), replace(late(14), losses=((0, 2.0),)), "other results"),
    ],
    ids=["numbers differ", "numbers differ before the error", "a new error", "the old error", "growth", "late and different"],
)
def test_falls_short(before: Run, after: Run, why: str) -> None:
    found, reason = verdict(before, after)
    assert found is Verdict.SHORT
    assert reason.startswith(why)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (
            died(0, MISSING),
            died(0, MISSING),
            "the script fails with and without the fixes: FileNotFoundError: data.csv (train.py:2)",
        ),
        (Run(Ending.FINISHED, 0), Run(Ending.FINISHED, 0), "the script never imported torch"),
        (replace(ran(0), stdout=""), replace(ran(0), stdout=""), "no backward pass finished"),
        (late(0), late(0), "no backward pass finished in the time that it had"),
        (Run(Ending.LOST, 1, Failure("lost", "no such interpreter")), ran(3), "the run was lost: lost: no such interpreter"),
    ],
    ids=["another reason", "no torch", "no walk", "no walk in time", "no report"],
)
def test_no_verdict(before: Run, after: Run, why: str) -> None:
    assert verdict(before, after) == (Verdict.NONE, why)


def test_walks_that_a_repair_joins_have_no_counterparts() -> None:
    """The sum of two losses is one walk: what is printed decides."""
    assert verdict(replace(ran(8), losses=()), replace(ran(4, first=3.0), stdout="loss 0.5\n"), "GF301")[0] is Verdict.GOOD
    assert verdict(ran(8), replace(ran(4), stdout="loss 0.7\n"), "GF301")[0] is Verdict.SHORT

"""A program that does something else each time says nothing of a fix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.verify.record import Ending, Failure, Run, Walk
from graphfix.verify.script import Verdict, judge
from graphfix.verify.steady import doubtful, reconsidered, varies

SECOND = Failure("RuntimeError", "Trying to backward through the graph a second time", "train.py", 9)
OFFLINE = Failure("ConnectionError", "no answer", "train.py", 2)
MEMORY = Failure("OutOfMemoryError", "tried to allocate 20 MiB at 0x7f01", "train.py", 9)


def ran(steps: int = 8, first: float = 1.0, failure: Failure | None = None, growth: int = 0) -> Run:
    walks = tuple(Walk(n, "backward", "t.py", 9, 5 + growth * n, 10, 5, False, {}, 0, 0, 0, {}, 0.1) for n in range(steps))
    losses = tuple((index, first / (index + 1)) for index in range(steps))
    whole = Run(Ending.FINISHED, 0, walks=walks, walk_count=steps, losses=losses, torch="2.13", stdout="loss 0.5\n")
    return whole if failure is None else replace(whole, ending=Ending.FAILED, exit_code=1, failure=failure)


def exited(steps: int = 8, said: str = "", code: int = 3) -> Run:
    return replace(ran(steps), ending=Ending.EXITED, exit_code=code, stderr=said)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (ran(), ran(first=1.1), "your program computes other numbers in each run (two runs of the original: the loss of backward pass 1 is 1.0"),
        (ran(), replace(ran(), stdout="loss 0.6\n"), "your program computes other numbers in each run (two runs of the original: prints 0.5"),
        (ran(), ran(7), "your program computes other numbers in each run (two runs of the original: 8 backward passes before, 7 after)"),
        (exited(), replace(exited(), stdout="loss 0.6\n"), "your program computes other numbers in each run"),
        (ran(failure=OFFLINE), ran(first=1.1, failure=OFFLINE), "your program computes other numbers in each run"),
        (ran(), ran(3, failure=OFFLINE), "your program does not always end in the same way (two runs of the original: finished, and Conn"),
        (exited(), exited(code=4), "your program does not always end in the same way"),
        (ran(), replace(ran(), ending=Ending.LATE, exit_code=None), "your program does not always end in the same way"),
    ],
    ids=["losses", "prints", "walks", "numbers before an exit", "numbers before an error", "error", "exit code", "out of time"],
)  # fmt: skip
def test_two_runs_that_differ(first: Run, second: Run, why: str) -> None:
    assert varies(first, second).startswith(why)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ran(), ran()),
        (ran(3, failure=SECOND), ran(3, failure=SECOND)),
        (exited(said="epoch 1: 3.1 s"), exited(said="epoch 1: 2.9 s")),
        (ran(failure=MEMORY), ran(failure=replace(MEMORY, message="tried to allocate 20 MiB at 0x7f99"))),
    ],
    ids=["finished", "died", "times in front of an exit", "addresses in an error"],
)
def test_two_runs_that_are_alike(first: Run, second: Run) -> None:
    assert varies(first, second) == ""


def test_what_a_shell_prints_is_no_result() -> None:
    assert varies(Run(Ending.FINISHED, 0, stdout="in 1.2 s"), Run(Ending.FINISHED, 0, stdout="in 1.3 s"), numbers=False) == ""
    failed = Run(Ending.FAILED, 1, Failure("exit code 1", "in 1.3 s"))
    assert "does not always end in the same way" in varies(Run(Ending.FINISHED, 0), failed, numbers=False)


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [
        (ran(), ran(first=1.1), ran(first=1.2)),
        (ran(), ran(5, failure=OFFLINE), ran(3, failure=OFFLINE)),
        (ran(3, failure=OFFLINE), ran(), ran()),
    ],
    ids=["numbers", "fails at times, with the fixes", "fails at times, without them"],
)
def test_the_program_is_to_blame(before: Run, after: Run, again: Run) -> None:
    trial = judge(before, after)
    assert doubtful(trial)
    assert reconsidered(trial, again).verdict is Verdict.NONE


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (ran(), ran(first=1.1), Verdict.SHORT),
        (ran(), ran(5, failure=OFFLINE), Verdict.SHORT),
        (ran(3, failure=MEMORY), ran(), Verdict.GOOD),
    ],
    ids=["numbers", "a new error", "an error that is gone"],
)
def test_a_steady_program_leaves_the_verdict_as_it_is(before: Run, after: Run, verdict: Verdict) -> None:
    trial = judge(before, after)
    assert doubtful(trial) and trial.verdict is verdict
    assert reconsidered(trial, before) == trial


@pytest.mark.parametrize(
    ("before", "after"),
    [(ran(), ran()), (ran(3, failure=SECOND), ran()), (ran(growth=2), ran(growth=2)), (ran(0), ran(0))],
    ids=["verified", "the graph's error is gone", "the graph grows", "no verdict"],
)
def test_a_second_run_would_say_nothing(before: Run, after: Run) -> None:
    assert not doubtful(judge(before, after))


def test_the_same_end_with_and_without_the_fixes_is_compared_up_to_there() -> None:
    for end in (exited(said="2 s"), ran(failure=OFFLINE)):
        trial = judge(end, replace(end, stderr="3 s"))
        assert (trial.verdict, trial.results) == (Verdict.GOOD, "equal up to its end: 9 numbers over 8 backward passes")
        other = judge(end, replace(end, stdout="loss 0.6\n"))
        assert (other.verdict, other.reason) == (Verdict.SHORT, "other results: prints 0.5 as number 1, and 0.6 after")
    # a repair that joins walks
    assert judge(exited(8), replace(exited(4), losses=()), ["GF301"]).verdict is Verdict.GOOD
    assert judge(exited(8), exited(4)).reason == "the fixed program still ends in exit code 3"
    silent = replace(exited(), losses=(), stdout="")
    assert judge(silent, silent).reason == "the script fails with and without the fixes: exit code 3"


def test_another_count_of_walks_or_of_prints_is_another_result() -> None:
    bare = replace(ran(), losses=(), stdout="")
    assert judge(bare, replace(bare, walk_count=7)).verdict is Verdict.SHORT
    assert judge(bare, replace(bare, stdout="1 2")).verdict is Verdict.SHORT

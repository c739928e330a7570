"""Large files: the work is bounded by a count of steps, and a trial that would end early is not made."""

from __future__ import annotations

import pytest

from graphfix.analysis import explore
from graphfix.analysis.explore import TOTAL_STEPS
from graphfix.interpreter.interpreter import MAX_STEPS

from .toys import explored

BRANCHES = "\n".join(f"    if len(sys.argv) > {n}:\n        h = h + {n}" for n in range(TOTAL_STEPS // 20))
MANY = f"import sys\nfor i in range(100):\n    h = net(x)\n{BRANCHES}\n    h.sum().backward()\n"


@pytest.fixture(autouse=True)
def as_a_short_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "MOST_MORE", 0)


def test_thousands_of_branches_end_with_the_budget() -> None:
    tape = explored(MANY)
    assert tape.truncated
    assert len(tape.runs) <= TOTAL_STEPS // MAX_STEPS + 1


def test_what_was_cut_short_is_not_tried_again() -> None:
    trial = explored(MANY).replay({})
    assert trial.truncated and trial.runs == []


def test_a_small_file_is_tried_again() -> None:
    trial = explored("(w * x).sum().backward()").replay({})
    assert not trial.truncated and len(trial.runs) == 1

"""The tape against real torch: random training programs must raise, and only raise, where the tape says so."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, note, settings

from graphfix.analysis.explore import Explorer
from graphfix.source.document import Document

from .random_programs import programs, writing

torch = pytest.importorskip("torch")
OTHER = "another error"
TWICE = "second time"
WRITTEN = "modified by an inplace operation"


def line_by_torch(text: str, message: str = TWICE) -> int | str | None:
    """The line at which a walk raises with `message`; None where the program ends, `OTHER` where it fails otherwise."""
    try:
        exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as error:
        if message not in str(error):
            return OTHER
        frames = traceback.extract_tb(error.__traceback__)
        return next(frame.lineno for frame in frames if frame.filename == "program.py")
    return None


def line_by_tape(text: str) -> int | None:
    """The line of the first walk that meets a freed graph for certain."""
    tape = Explorer(Document("program.py", text), (Path("/nowhere"),)).explore()
    return next((walk.site.lineno for walk in tape.runs[0].recording.walks if any(hit.certain for hit in walk.hits)), None)


def overwritten_by_tape(text: str) -> int | None:
    """The line of the first walk that needs, for certain, a tensor that was written to since it was saved."""
    tape = Explorer(Document("program.py", text), (Path("/nowhere"),)).explore()
    return next((walk.site.lineno for walk in tape.runs[0].recording.walks if any(o.certain for o in walk.overwritten)), None)


@settings(
    max_examples=150, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
@given(programs)
def test_the_tape_raises_where_torch_does(text: str) -> None:
    expected = line_by_torch(text)
    assume(expected != OTHER)
    note(text)
    assert line_by_tape(text) == expected


@settings(
    max_examples=400, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip
@given(writing)
def test_the_tape_knows_what_is_overwritten(text: str) -> None:
    expected = line_by_torch(text, WRITTEN)
    assume(expected != OTHER)
    note(text)
    assert overwritten_by_tape(text) == expected


def test_both_verdicts_come_up() -> None:
    """The comparison says something: one program that raises, one that does not."""
    loop = "import torch\nw = torch.ones(3, requires_grad=True)\ns = {}\nfor i in range(2):\n    (s * 2).sum().backward()\n"
    assert line_by_torch(loop.format("w.exp()")) == line_by_tape(loop.format("w.exp()")) == 5
    assert line_by_torch(loop.format("w + 1")) is line_by_tape(loop.format("w + 1")) is None

"""The picture: labelled, named by source line, and small also for many iterations."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from graphfix.installation import command
from graphfix.verify import plot
from graphfix.verify.record import Ending, Failure, Run, Walk

pytest.importorskip("matplotlib")


def run(count: int, growth: int, failure: Failure | None = None, counted: bool = True) -> Run:
    walks = tuple(
        Walk(
            at, "backward", "/home/me/train.py", 12, 8 + growth * at, 8, 8, False, {"/home/me/train.py:9": 5 + growth * at},
            0, 0, 2048 * (1 + growth * at), {}, 0.1,
        )
        for at in range(count)
    )  # fmt: skip
    return Run(
        Ending.FAILED if failure else Ending.FINISHED, walks=walks, failure=failure, peak_saved_bytes=9000 if counted else None
    )


@pytest.mark.parametrize("count", [5, 500])
def test_a_picture_says_what_it_shows(tmp_path: Path, count: int) -> None:
    file = tmp_path / "live.svg"
    plot.draw(run(count, 9), run(count, 0), file, "train.py <a> & $b$")
    text = file.read_text("utf-8")
    for words in ("live autograd nodes", "saved tensors, most", "backward pass", "before", "after", "train.py:9", "$b$"):
        assert words in text, words
    assert "/home/me" not in text
    assert len(text) < 200_000
    assert "stroke-dasharray" in text, "told apart without colour"


def test_a_picture_has_its_marks_on_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        plot.draw(run(5, 9), run(5, 0), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_an_error_is_marked_and_an_empty_run_drawn(tmp_path: Path) -> None:
    failure = Failure("RuntimeError", "Trying to backward", "train.py", 31)
    for count in (0, 1):
        plot.draw(run(count, 0, failure), run(20, 0), tmp_path / "live.svg")
        assert "RuntimeError in line 31" in (tmp_path / "live.svg").read_text("utf-8")
    plot.draw(run(5, 1, counted=False), run(5, 0), tmp_path / "live.png")
    assert (tmp_path / "live.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(plot.NoPlotter, match=re.escape(command(extra="plot"))):
        plot.draw(run(5, 1), run(5, 0), tmp_path / "live.png")

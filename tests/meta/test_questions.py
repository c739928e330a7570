"""Each question that a scan is asked is written down once, with its place and its answer; another answer is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import questions
from benchmarks.questions import main
from graphfix.analysis.flow.freed import Freed
from graphfix.obligations import use_analysis

# the running state is walked in each iteration, and the sum is not
CARRIED = """\
import torch
net = torch.nn.RNNCell(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
state, total = torch.zeros(1, 3), 0.0
for x in torch.ones(5, 1, 3):
    state = net(x, state)
    loss = state.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(total)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(CARRIED)
    return tmp_path / "project"


def recorded(program: Path, name: str = "asked", *words: str) -> Path:
    file = program.parent / f"{name}.jsonl"
    assert main(["record", str(file), "project", "--corpus", f"project={program}", *words]) == 0
    return file


def lines_of(file: Path, scan: str) -> list[dict[str, Any]]:
    return [each for each in map(json.loads, file.read_text().splitlines()) if each["scan"] == scan]


def test_a_question_has_its_place_its_answer_and_who_asks(program: Path) -> None:
    live, *_ = (each for each in lines_of(recorded(program), "live.is_live") if each["about"][1] == "state")
    assert live == {
        "scan": "live.is_live",
        "corpus": "project",
        "program": "",
        "file": "train.py",
        "about": ["5:1-11:18 For", "state"],
        "answer": True,
        "by": ["second_backward.brings"],
    }


def test_the_program_that_is_asked_is_named(program: Path) -> None:
    asked = lines_of(recorded(program), "freed.before")
    assert [(each["program"], each["about"], each["answer"]) for each in asked] == [("train.py", ["11:14-11:18 Name"], True)]


def test_a_second_record_is_the_same(program: Path) -> None:
    assert recorded(program).read_bytes() == recorded(program, "again").read_bytes()


def test_a_scan_that_asks_itself_is_written_down_on_demand(program: Path) -> None:
    assert not lines_of(recorded(program), "freed.walked_between")
    assert lines_of(recorded(program, "inner", "--inner"), "freed.walked_between")


def test_nothing_is_told_of_the_same_answers(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recorded(program)
    capsys.readouterr()
    assert main(["compare", str(file), str(file)]) == 0
    assert "->" not in capsys.readouterr().out


def test_another_answer_is_told_with_its_place(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = recorded(program)
    monkeypatch.setattr(Freed, "before", lambda freed, expression: False)
    new = recorded(program, "new")
    capsys.readouterr()
    assert main(["compare", str(old), str(new)]) == 1
    assert "project: train.py: 11:14-11:18 Name\n      true -> false" in capsys.readouterr().out


def test_a_scan_is_watched_wherever_it_is_named() -> None:
    before = use_analysis.swallowed
    with questions.watched(questions.Notes()):
        assert use_analysis.swallowed is not before
    assert use_analysis.swallowed is before

"""A trial runs again only what comes to the expressions that it reads differently."""

from __future__ import annotations

import ast

import pytest

from graphfix.analysis.explore import Tape

from .toys import explored

PROGRAM = """
other_net = nn.Linear(4, 4)

def train(x):
    loss = net(x).sum()
    loss.backward(retain_graph=True)
    return loss

def other(x):
    loss = net(x).sum()
    loss.backward()

class Trainer:
    def step(self, x):
        other(x)
"""


def tried(tape: Tape, word: str) -> tuple[Tape, set[str]]:
    """The file once more with the value of a keyword read as it is, and the entries that are not run again."""
    value = next(k.value for k in ast.walk(tape.document.tree) if isinstance(k, ast.keyword) and k.arg == word)
    trial = tape.replay({value: lambda m, node, value: value})
    return trial, {run.entry.name for run in trial.runs if run in tape.runs}


def test_entries_that_do_not_come_to_it_are_not_run_again() -> None:
    tape = explored(PROGRAM)
    trial, same = tried(tape, "retain_graph")
    assert "train" not in same and same == {run.entry.name for run in tape.runs} - {"train"} != set()
    assert [run.entry for run in trial.runs] == [run.entry for run in tape.runs]


@pytest.mark.parametrize(
    "before, after",
    [
        ("loss.backward(retain_graph=True)", "walk = lambda: loss.backward(retain_graph=True)\n    walk()"),
        ("def train(x)", "def train(x, given=torch.ones(2, requires_grad=True))"),
        ("nn.Linear(4, 4)", "nn.Linear(4, 4, bias=True)"),
    ],
    ids=("lambda", "default", "module"),
)
def test_all_is_run_again_where_a_statement_does_not_tell_who_comes_to_it(before: str, after: str) -> None:
    word = {"bias=True": "bias", "requires_grad=True": "requires_grad"}
    name = next((name for text, name in word.items() if text in after), "retain_graph")
    assert tried(explored(PROGRAM.replace(before, after)), name)[1] == set()


def test_the_end_of_a_trial_leaves_the_runs_that_are_not_its_own() -> None:
    tape = explored(PROGRAM)
    trial, _ = tried(tape, "retain_graph")
    trial.let_go()
    assert all(run.recording.executed for run in tape.runs)
    tape.let_go()
    trial.let_go()

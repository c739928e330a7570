"""Decorators of the project are followed, as far as they do what decorators do."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.interpreter import decorators
from graphfix.run.engine import analyse
from graphfix.source.document import Document

SWITCHING = """
import torch
import torch.nn.functional as F

def unrecorded(function):
    {work}
    return torch.no_grad()(function)

@unrecorded
def score(model, loader):
    model.eval()
    total = 0
    for x, y in loader:
        total += F.mse_loss(model(x), y).item()
    return total
"""
TWICE = """
import torch

def twice(function):
    {work}
    def both(loss):
        function(loss)
        function(loss)
    return both

@twice
def walk(loss):
    loss.backward()

@twice
def go(loss):
    loss.backward()

for name in ("a", "b"):
    loss = torch.nn.Linear(4, 4)(x).exp().sum()
    {name}(loss)
"""
TRAINED = """
import torch
import torch.nn.functional as F

net = torch.nn.Linear(4, 1)
data = [(torch.randn(2, 4), torch.randn(2, 1)) for _ in range(3)]

def trained(function):
    {work}
    def run(*given):
        loss = function(*given)
        loss.backward()
        return loss
    return run

@trained
def total(pairs):
    net.eval()
    s = 0
    for x, y in pairs:
        s += F.mse_loss(net(x), y)
    print(s.item())
    return s

total(data)
"""
LONG = "\n    ".join(["text = function.__doc__"] * (decorators.MOST_STEPS + 1))


@pytest.mark.parametrize("name", ["walk", "go"])
@pytest.mark.parametrize("work, expected", [("pass", ["GF302"]), (LONG, [])])
def test_a_decorator_is_followed_unless_it_does_much_else(work: str, name: str, expected: list[str]) -> None:
    text = TWICE.replace("{work}", work).replace("{name}", name)
    assert [finding.code for finding in analyse(Path("walk.py"), text).findings] == expected


@pytest.mark.parametrize("work", ["pass", LONG])
def test_one_that_may_switch_recording_is_followed_whatever_else_it_does(work: str) -> None:
    assert analyse(Path("score.py"), SWITCHING.format(work=work)).findings == ()
    assert analyse(Path("score.py"), SWITCHING.format(work=work).replace("@unrecorded", "")).findings


@pytest.mark.parametrize("work", ["pass", LONG])
def test_what_one_does_with_results_is_not_known_where_it_is_given_up(work: str) -> None:
    assert analyse(Path("total.py"), TRAINED.replace("{work}", work)).findings == ()
    told = analyse(Path("total.py"), TRAINED.replace("{work}", work).replace("@trained", "")).findings
    assert {finding.code for finding in told} == {"GF101", "GF103"}


def test_one_that_takes_too_much_is_given_up_once() -> None:
    explorer = Explorer(Document("walk.py", TWICE.replace("{work}", LONG).replace("{name}", "go")), ())
    tape = explorer.explore()
    assert [decorator.name for decorator in explorer.laborious] == ["twice"]
    assert not tape.truncated
    assert max(interpreter.steps for interpreter in tape.interpreters) < 2 * decorators.MOST_STEPS

"""What an analysis makes is gone when it ends, without a collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphfix.analysis.flow.graph import FlowGraph
from graphfix.autograd.graph import Node
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Recording
from graphfix.interpreter.values import Class
from graphfix.run.engine import analyse

PROGRAM = """
import torch
from nets import Net

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for x in torch.randn(3, 4):
    loss = net(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total)
"""
NETS = "import torch\nclass Net(torch.nn.Linear):\n    def __init__(self):\n        super().__init__(4, 1)\n"


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


CIRCLES = """\
import torch

class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(width, width) for _ in range(2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        if x.dim() > 9:
            raise ValueError
        return x

def train(net, loader, steps):
    kept = []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(steps):
        def closure():
            return net(next(loader)).sum()
        losses = [closure() for _ in range(2) if i]
        loss = closure() + sum(losses)
        kept.append(loss)
        loss.backward(retain_graph=True)
        loss.backward()
        optimizer.step()
    return kept

train(Net(3), iter([]), 4)
"""


def alive(kind: type) -> list[object]:
    return [each for each in gc.get_objects() if isinstance(each, kind) and vars(each)]


def test_runs_and_flow_are_let_go_without_the_collector(tmp_path: Path, uncollected: None) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    before = len(alive(Recording)), len(alive(FlowGraph))
    findings = analyse(tmp_path / "train.py", PROGRAM, (tmp_path,)).findings
    assert [(finding.code, finding.fix is not None) for finding in findings] == [("GF101", True)]
    assert (len(alive(Recording)), len(alive(FlowGraph))) == before


@pytest.mark.parametrize("kind", [Node, Frame, Env, Class, Interpreter])
def test_nothing_of_the_runs_is_left_to_the_collector(tmp_path: Path, uncollected: None, kind: type) -> None:
    def count() -> int:
        return sum(type(each) is kind for each in gc.get_objects())

    before = count()
    assert [finding.code for finding in analyse(tmp_path / "train.py", CIRCLES, (tmp_path,)).findings] == ["GF102"]
    assert count() == before


def test_an_analysis_that_ended_leaves_the_files_that_it_shares_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    first, second = (analyse(tmp_path / "train.py", PROGRAM, (tmp_path,)) for _ in range(2))
    assert first.findings == second.findings != ()

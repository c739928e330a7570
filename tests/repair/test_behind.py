"""State that a loop which is no statement hands on is detached behind the backward pass that frees its graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)


class Memory:
    def __init__(self):
        self.kept = START

    def recall(self):
        return self.kept READ

    def update(self, value):
        self.kept STORE


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.memory = nn.GRUCell(3, 3), Memory()

    def forward(self, x):
        mine, theirs = self.memory.recall(), self.memory.recall()
        self.memory.update(self.cell(x + theirs, mine))
        return self.memory.recall()


class Learner:
    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.SGD(self.net.parameters(), 0.1)

    def step(self, x):
        self.opt.zero_grad()
        loss = self.net(x).square().mean()
        loss.backward()
        self.opt.step()
        return loss.item()


learner = Learner()
"""
PLAIN = ("torch.zeros(2, 3)", "= value", "")
STATES = {
    "a tensor": (PLAIN, "self.net.memory.kept = self.net.memory.kept.detach()"),
    "a dict": (
        ("{0: torch.zeros(2, 3)}", "[0] = value", "[0]"),
        "self.net.memory.kept = {k: v.detach() for k, v in self.net.memory.kept.items()}",
    ),
    "a list": (("[torch.zeros(2, 3)]", "[0] = value", "[0]"), "self.net.memory.kept = [s.detach() for s in self.net.memory.kept]"),
}
LOOPS = ("losses = [learner.step(torch.randn(2, 3)) for _ in range(4)]\n", "losses = list(learner.step(torch.randn(2, 3)) for _ in range(4))\n")


def whole(state: tuple[str, str, str], loop: str) -> str:
    start, store, read = state
    return HEAD.replace("START", start).replace(" STORE", store if store[0] == "[" else f" {store}").replace(" READ", read) + loop


@pytest.mark.parametrize("loop", LOOPS, ids=["a comprehension", "a generator"])
@pytest.mark.parametrize(("state", "line"), STATES.values(), ids=STATES)
def test_the_state_is_detached_behind_the_backward_pass(state: tuple[str, str, str], line: str, loop: str) -> None:
    program = whole(state, loop)
    (finding,) = findings_of(Path("train.py"), program)
    assert finding.code == "GF202"
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(program, [finding.fix]).text
    assert f"        loss.backward()\n        {line}\n" in repaired
    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(program, "train.py", "exec"), {})
    exec(compile(repaired, "train.py", "exec"), {})


def test_a_loop_in_sight_is_repaired_where_the_state_enters_it() -> None:
    program = whole(PLAIN, "for _ in range(4):\n    learner.step(torch.randn(2, 3))\n")
    (finding,) = findings_of(Path("train.py"), program)
    assert finding.fix is not None and "enters the iteration" in finding.fix.title

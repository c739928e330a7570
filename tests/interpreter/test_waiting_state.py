"""What waits from one iteration for the next becomes a part of the state one late: only the third iteration meets what was freed."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

HEAD = """
import torch
from torch import nn

cell, head = nn.Linear(4, 4), nn.Linear(4, 1)


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.Linear(4, 4), nn.Linear(4, 1)
        self.state, self.message = torch.zeros(4), None

    def forward(self, x):
        if self.message is not None:
            self.state = torch.tanh(self.cell(self.message) + self.state{cut})
        self.message = x
        return self.head(self.state)

    def train_on(self, x):
        loss = self(x).pow(2).mean()
        loss.backward()
        return loss.item()


net = Memory()
"""
WAITING = {
    "a list of messages": (
        "GF201",
        """
state, waiting = torch.zeros(4), []
for _ in range(4):
    for message in waiting:
        state = torch.tanh(cell(message) + state{cut})
    waiting = []
    loss = head(state).pow(2).mean()
    loss.backward()
    waiting.append(torch.randn(4))
""",
    ),
    "an attribute": ("GF202", "for _ in range(4):\n    net(torch.randn(4)).pow(2).mean().backward()\n"),
    "a while": ("GF202", "step = 0\nwhile step < 4:\n    net.train_on(torch.randn(4))\n    step += 1\n"),
    "a comprehension": ("GF202", "losses = [net.train_on(torch.randn(4)) for _ in range(4)]\n"),
}


@pytest.mark.parametrize(("code", "loop"), WAITING.values(), ids=WAITING)
def test_what_waits_is_met_freed_in_the_third_iteration(code: str, loop: str) -> None:
    program = (HEAD + loop).format(cut="")
    with pytest.raises(RuntimeError, match="second time"), redirect_stdout(io.StringIO()):
        exec(compile(program, "train.py", "exec"), {"__name__": "train"})
    assert code in {finding.code for finding in findings_of(Path("train.py"), program)}


@pytest.mark.parametrize(("code", "loop"), WAITING.values(), ids=WAITING)
def test_where_the_state_is_detached_nothing_is_found(code: str, loop: str) -> None:
    program = (HEAD + loop).format(cut=".detach()")
    exec(compile(program, "train.py", "exec"), {"__name__": "train"})
    assert findings_of(Path("train.py"), program) == []

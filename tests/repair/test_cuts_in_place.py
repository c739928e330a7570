"""State that is reset by a write to the tensor itself: its graph is cut there."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn

class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("state", torch.zeros(2, 3))
        self.register_buffer("other", torch.zeros(2, 3))

    def restart(self):
        {reset}

    def forward(self, x):
        self.other = 0.5 * self.other + x
        self.state = torch.tanh(self.linear(self.other) + self.state)
        return self.state

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Cell(), Cell()

    def restart(self):
        for each in self.modules():
            if isinstance(each, Cell):
                each.restart()

    def forward(self, x):
        return self.two(self.one(x))

cell = Net()
opt = torch.optim.SGD(cell.parameters(), 0.1)
for step in range(3):
    cell.restart()
    for _ in range(2):
        out = cell(torch.ones(2, 3))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
"""


@pytest.mark.parametrize("reset", ["zero_()", "fill_(0.0)"])
def test_the_graph_is_cut_where_the_state_is_reset(reset: str) -> None:
    program = PROGRAM.format(reset=f"for b in self.buffers():\n            b.{reset}")
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        exec(compile(program, "train.py", "exec"), {})
    fixes = [each.fix for each in findings_of(Path("train.py"), program) if each.code == "GF202"]
    assert all(fix is not None and fix.applicability is Applicability.UNSAFE for fix in fixes)
    repaired = apply_fixes(program, [fix for fix in fixes if fix is not None]).text
    exec(compile(repaired, "train.py", "exec"), {})
    assert ".detach_()." in repaired


def test_a_reset_that_makes_a_new_tensor_is_right() -> None:
    program = PROGRAM.format(reset="self.state, self.other = torch.zeros(2, 3), torch.zeros(2, 3)")
    assert not findings_of(Path("train.py"), program)

"""GF401 in recurrences: each step writes to the tensor of which the step before has saved a view."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(3, 3)
w = nn.ParameterList()
for _ in range(2):
    w.append(torch.ones(3, 3))
x = torch.ones(4, 5, 3)
opt = torch.optim.SGD([*net.parameters(), *w.parameters()], 0.1)
for _ in range(2):
    h = torch.zeros(4, 6, 3)
    for t in range(5):
        {step}
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FAULTS = {
    "a column": "h[:, t + 1] = torch.tanh(net(h[:, t]))",
    "a part of a row": "h[0, t + 1] = torch.tanh(net(h[0, t]))",
    "a slice": "h[:, t:t + 1] = torch.tanh(net(h[:, 0:1]))",
    "weights out of a list that makes them parameters": "h[t % 4] = F.linear(h[0], w[0])",
}
RIGHT = {
    "a copy is saved": "h[:, t + 1] = torch.tanh(net(h[:, t].clone()))",
    "chosen by a list, which copies": "h[:, t + 1] = torch.tanh(net(h[[0, 1, 2, 3], t]))",
    "chosen by a mask, which copies": "h[:, t + 1] = torch.tanh(net(h[:, t][h[:, t, 0] < 9]))",
    "nothing of it is saved": "h[:, t + 1] = h[:, t] + net(x[:, t])",
}


def codes(program: str) -> set[str]:
    return {each.code for each in findings_of(Path("train.py"), program)}


@pytest.mark.parametrize("step", FAULTS.values(), ids=FAULTS)
def test_what_raises_is_told_and_repaired(step: str) -> None:
    program = PROGRAM.format(step=step)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        exec(compile(program, "train.py", "exec"), {})
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF401")
    assert finding.fix is not None
    exec(compile(apply_fixes(program, [finding.fix]).text, "train.py", "exec"), {})


@pytest.mark.parametrize("step", RIGHT.values(), ids=RIGHT)
def test_what_runs_is_left_alone(step: str) -> None:
    program = PROGRAM.format(step=step)
    exec(compile(program, "train.py", "exec"), {})
    assert codes(program) == set()

"""GF205 where the leaf and what is computed from it stand in different statements, or functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

PROGRAM = """
import torch

def make(n):
    return torch.randn(n, 3, requires_grad=True){scaled}

z = make(4)
{again}
optimizer = torch.optim.SGD({given}, lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    z.pow(2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("given", ["[z]", "[{'params': [z], 'lr': 0.5}]", "[{'params': z}]"])
@pytest.mark.parametrize(("scaled", "again"), [(" * 0.1", "pass"), ("", "z = z * 0.1")])
def test_what_an_optimizer_refuses(scaled: str, again: str, given: str) -> None:
    [finding] = findings_of(Path("train.py"), PROGRAM.format(scaled=scaled, again=again, given=given))
    assert (finding.code, finding.fix) == ("GF205", None)
    assert "can't optimize a non-leaf Tensor" in str(finding.symptoms[0])


@pytest.mark.parametrize("again", ["pass", "z = (z * 0.1).detach().requires_grad_()", "z = torch.nn.Parameter(z * 0.1)"])
def test_a_leaf(again: str) -> None:
    assert findings_of(Path("train.py"), PROGRAM.format(scaled="", again=again, given="[z]")) == []


def test_a_step_that_each_iteration_makes_with_its_own_optimizer_stays() -> None:
    text = """
import torch
from torch import nn

body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh())
heads = {k: nn.Linear(4, 1) for k in "ab"}
optimizers = {k: torch.optim.SGD([*body.parameters(), *heads[k].parameters()], lr=0.1) for k in "ab"}
for x in torch.randn(4, 5, 3):
    z = body(x)
    losses = {k: torch.tanh(head(z)).pow(2).mean() for k, head in heads.items()}
    for name, loss in losses.items():
        optimizers[name].zero_grad()
        loss.backward(retain_graph=True)
        optimizers[name].step()
"""
    assert [(each.code, each.fix) for each in findings_of(Path("train.py"), text)] == [("GF304", None)]


def test_a_chain_that_gives_the_rows_of_a_leaf() -> None:
    torch = pytest.importorskip("torch")
    program = """
import itertools
import torch
from torch import nn
net = nn.Linear(3, 3)
w = torch.ones(4, 3, requires_grad=True)
opt = torch.optim.SGD([{"params": itertools.chain(net.parameters(), w)}], lr=0.1)
(net(torch.ones(2, 3)) @ w.t()).sum().backward()
opt.step()
"""
    with pytest.raises(ValueError, match="can't optimize a non-leaf Tensor"):
        exec(compile(program, "train.py", "exec"), {})
    (finding,) = findings_of(Path("train.py"), program)
    assert finding.code == "GF205" and finding.fix is not None
    assert finding.fix.applicability is Applicability.UNSAFE  # another run may chain a list
    repaired = apply_fixes(program, [finding.fix]).text
    assert "chain(net.parameters(), [w])" in repaired
    exec(compile(repaired, "train.py", "exec"), {"torch": torch})
    assert not findings_of(Path("train.py"), repaired)

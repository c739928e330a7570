"""GF205 where the leaf and what is computed from it stand in different statements, or functions."""

from __future__ import annotations

from pathlib import Path

import pytest

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

"""GF304: modules that are not in sight, of which optimizers have the parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

GAN = """
import torch
import torch.nn.functional as F
from torch import optim

def train(first, second, loader, optimizer_class=optim.Adam):
    optim_a = optimizer_class({a})
    optim_b = torch.optim.SGD(second.parameters(), lr=0.1)
    for x, y in loader:
        x = torch.zeros(8, 3).requires_grad_({recorded})
        optim_a.zero_grad()
        made = first({x})
        judged = second(made)
        (F.mse_loss(made, y) + F.mse_loss(judged, y)).backward(retain_graph=True)
        {step}
        loss = F.mse_loss({later}, 1 - y)
        loss.backward()
        optim_b.step()
"""
USUAL = {"a": "first.parameters()", "recorded": "True", "x": "x", "step": "optim_a.step()", "later": "judged"}


def codes(**changed: str) -> set[str]:
    return {finding.code for finding in findings_of(Path("gan.py"), GAN.format(**{**USUAL, **changed}))} - {"GF305"}


@pytest.mark.parametrize(
    "optimized",
    [
        "first.parameters()",
        "filter(lambda p: p.requires_grad, first.parameters())",
        "[{'params': first.parameters(), 'lr': 0.1}]",
        "list(first.parameters())",
    ],
)
def test_a_step_that_a_later_backward_comes_too_late_for(optimized: str) -> None:
    assert codes(a=optimized) == {"GF304"}


@pytest.mark.parametrize(
    "changed",
    [
        {"recorded": "False"},  # its first layer does not need its weights for the gradient of its input, and may be the only one
        {"x": "x.detach()"},
        {"step": "pass"},
        {"later": "second(made.detach())"},
        {"a": "[p for p in first.parameters() if p.ndim > 1]"},
        {"a": "first.head.parameters()"},
    ],
)
def test_what_runs(changed: dict[str, str]) -> None:
    assert "GF304" not in codes(**changed)

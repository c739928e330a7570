"""Functions of torch on the parameters that a loop goes through, and operations that mark what they give as having no graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

PENALTY = """
import torch
from torch import nn

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
penalty = torch.tensor(0.0)
for {loop}:
    penalty = penalty + {term}
for step in range(5):
    loss = nn.functional.mse_loss(model(torch.randn(3, 4)), torch.randn(3, 2)) + 0.1 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""

CUSTOM = """
import torch
from torch import nn

class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = (x > 0).float()
        {mark}
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
spikes = Step.apply(model(torch.randn(3, 4)))
for step in range(5):
    loss = nn.functional.mse_loss(model(torch.randn(3, 4)), spikes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def codes(code: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("train.py"), code)]


@pytest.mark.parametrize("loop", ["p in model.parameters()", "name, p in model.named_parameters()"])
@pytest.mark.parametrize("term", ["torch.norm(p) ** 2", "torch.square(p).sum()", "torch.linalg.norm(p)", "p.norm()"])
def test_a_penalty_that_is_made_once_is_walked_by_each_backward(loop: str, term: str) -> None:
    assert "GF203" in codes(PENALTY.format(loop=loop, term=term))


@pytest.mark.parametrize("term", ["torch.norm(p.data)", "torch.norm(p.detach())", "torch.zeros_like(p).sum()", "torch.numel(p)"])
def test_a_penalty_without_a_graph(term: str) -> None:
    assert codes(PENALTY.format(loop="p in model.parameters()", term=term)) == []


@pytest.mark.parametrize(("mark", "told"), [("ctx.save_for_backward(x)", True), ("ctx.mark_non_differentiable(out)", False)])
def test_what_an_operation_marks_has_no_graph(mark: str, told: bool) -> None:
    assert ("GF203" in codes(CUSTOM.format(mark=mark))) is told

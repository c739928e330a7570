"""Networks that are told to need no gradient, in the ways that programs do it: what they make before a loop has no graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

PROGRAM = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
{frozen}
target = net(torch.rand(4, 3))
image = torch.rand(4, 3, requires_grad=True)
optimizer = torch.optim.SGD([image], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (net(image) - target).pow(2).mean().backward()
    optimizer.step()
"""


def codes(frozen: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("train.py"), PROGRAM.format(frozen=frozen))]


@pytest.mark.parametrize(
    "frozen",
    [
        "for p in net.parameters():\n    p.requires_grad = False",
        "for p in net.parameters():\n    p.requires_grad_(False)",
        "for name, p in net.named_parameters():\n    p.requires_grad_(requires_grad=False)",
        "for p in net.parameters():\n    setattr(p, 'requires_grad', False)",
        "for p in net.parameters():\n    p.detach_()",
        "[p.requires_grad_(False) for p in net.parameters()]",
        "any(map(lambda p: setattr(p, 'requires_grad', False), net.parameters()))",
        "for m in net.children():\n    [p.requires_grad_(False) for p in m.parameters()]",
        "net[0].weight.requires_grad_(False)\nnet[0].bias.requires_grad_(False)",
        "net.requires_grad_(False)",
        "setattr(net, 'note', 'frozen')\nnet.requires_grad_(False)",
    ],
)
def test_a_frozen_network_makes_no_graph(frozen: str) -> None:
    assert codes(frozen) == []


@pytest.mark.parametrize(
    "trained",
    [
        "pass",
        "for p in net.parameters():\n    p.requires_grad_()",
        "for p in net.parameters():\n    p.requires_grad_(False)\nfor p in net.parameters():\n    p.requires_grad_(True)",
        "for p in net.parameters():\n    setattr(p, 'note', False)",
        "for p in net.parameters():\n    p.data.detach_()",
        "for p in net.parameters():\n    p.grad is None or p.grad.detach_()",
    ],
)
def test_a_network_that_is_trained_makes_one(trained: str) -> None:
    assert codes(trained) == ["GF203"]

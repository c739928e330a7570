"""Libraries of spiking networks that put the state of all neurons back."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

NETWORK = """
import torch
import torch.nn.functional as F
from torch import nn, optim
from spikingjelly.activation_based import functional
from snntorch import utils

class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = 0.0
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        self.v = self.v * 0.5 + self.layer(x)
        return torch.sigmoid(self.v)

net = nn.Sequential(nn.Linear(4, 4), Neuron())
optimizer = optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(net(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("last", "codes"),
    (
        ("", {"GF202"}),
        ("    functional.reset_net(net)\n", set()),
        ("    functional.detach_net(net)\n", set()),
        ("    utils.reset(net)\n", set()),
    ),
    ids=("kept", "reset_net", "detach_net", "snntorch"),
)
def test_the_state_of_neurons(last: str, codes: set[str]) -> None:
    assert {finding.code for finding in findings_of(Path("train.py"), NETWORK + last)} == codes

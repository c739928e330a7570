"""GF103: what a function returns to code out of sight, which was given the function, may be asked for gradients there."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import analyse

WANTED_OUTSIDE = {
    "a score that a sampler steps along": """
import torch

def score_of(model, train=False):
    def score(x, t):
        if train:
            model.train()
        else:
            model.eval()
        return -model(x * t)
    return score

def sample(model, sampler, x):
    return sampler(score_of(model), 0.1).step(x)
""",
    "an energy that a library descends": """
import somewhere
import torch
from torch import nn

net = nn.Linear(4, 1)
net.eval()

def energy(x):
    return net(x).pow(2).mean()

for start in torch.randn(3, 4):
    print(somewhere.descend(energy, start))
""",
    "a field of forces, in a method that hands it on": """
import somewhere
from torch import nn

class Simulation:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.net.eval()

    def run(self, positions):
        def field(x):
            return {"energy": self.net(x).sum()}
        for _ in range(3):
            positions = somewhere.integrate(positions, field=field)
        return positions
""",
}

NUMBERS_OUTSIDE = """
import somewhere
import torch
from torch import nn

net = nn.Linear(4, 1)
data = [torch.randn(2, 4) for _ in range(3)]

def evaluate():
    net.eval()
    return sum(net(x).mean().item() for x in data) / 3

def check():
    net.eval()
    seen = []
    for x in data:
        seen.append(net(x).mean().item())
    return seen

somewhere.every(3, {})
"""


def told(program: str) -> list[str]:
    return [each.message for each in analyse(Path("page.py"), program).findings if each.code == "GF103"]


@pytest.mark.parametrize("program", WANTED_OUTSIDE.values(), ids=WANTED_OUTSIDE)
def test_what_code_out_of_sight_gets_back_is_no_evaluation(program: str) -> None:
    assert told(program) == []


@pytest.mark.parametrize("function", ["evaluate", "check"])
def test_numbers_that_code_out_of_sight_gets_back_are_an_evaluation(function: str) -> None:
    assert [message for message in told(NUMBERS_OUTSIDE.format(function)) if f"`{function}`" in message]

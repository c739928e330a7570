"""A list that the program has asked for its length holds that many items: one behind the simulated ones is none of these."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

PROGRAM = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)

def train(data):
    kept = []
    for x in data:
        kept.append(net(x).pow(2).mean())
        if {asked}:
            opt.zero_grad()
            {walks}
            opt.step()
            kept = []

train(torch.randn(8, 5, 3))
"""


def codes(asked: str, walks: str) -> list[str]:
    return [each.code for each in findings_of(Path("train.py"), PROGRAM.format(asked=asked, walks=walks)) if not each.optional]


@pytest.mark.parametrize("asked", ["len(kept) == 2", "len(kept) >= 2", "not len(kept) < 2", "2 == len(kept)"])
@pytest.mark.parametrize(
    "walks",
    [
        "kept[0].backward(); kept[1].backward()",
        "kept[-2].backward(); kept[-1].backward()",
        "a, b = kept; a.backward(); b.backward()",
    ],
)
def test_an_item_behind_those_that_are_simulated_is_another(asked: str, walks: str) -> None:
    assert codes(asked, walks) == []


@pytest.mark.parametrize("walks", ["kept[0].backward(); kept[0].backward()", "a, b = kept; b.backward(); a.backward(); (a + b).backward()"])
def test_an_item_that_goes_backward_twice(walks: str) -> None:
    assert "GF302" in codes("len(kept) == 2", walks) or "GF301" in codes("len(kept) == 2", walks)

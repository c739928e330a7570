"""Lists that are put together by slices hold their items in that order."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

NETWORK = """
import torch
from torch import nn

def build(sizes, depth):
    count = len(sizes) - 1
    {made}
    return nn.Sequential(*layers)

first = nn.Linear(4, 4)
model = build([4, 4, 4], 2)
optimizer = torch.optim.SGD([*first.parameters(), *model.parameters()], lr=0.1)
for step in range(10):
    loss = model(first(torch.randn(2, 4))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
IN_TURN = {
    "every second one of an empty list of a computed length": """
    layers = [None] * (2 * count)
    layers[::2] = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
    layers[1::2] = [nn.ReLU(True) for _ in range(count)]
""",
    "every third one": """
    layers = [None] * 6
    layers[0::3] = [nn.Linear(4, 4), nn.Linear(4, 4)]
    layers[1::3] = [nn.BatchNorm1d(4), nn.BatchNorm1d(4)]
    layers[2::3] = [nn.ReLU(True), nn.ReLU(True)]
""",
    "the rest, behind those that stay": """
    layers = [nn.Linear(4, 4), nn.Sigmoid(), nn.ReLU(True)]
    layers[1:] = [nn.ReLU(True), nn.Linear(4, 4)]
""",
    "what comes before": """
    layers = [nn.Sigmoid(), nn.ReLU(True)]
    layers[:1] = [nn.Linear(4, 4)]
""",
    "all": """
    layers = [nn.Sigmoid(), nn.ReLU(True)]
    layers[:] = [nn.Linear(4, 4), nn.ReLU(True)]
""",
}
WRITTEN = {
    "behind what saves its result": """
    layers = [None] * 4
    layers[::2] = [nn.Linear(4, 4), nn.ReLU(True)]
    layers[1::2] = [nn.Sigmoid(), nn.Linear(4, 4)]
""",
    "in front of the end": """
    layers = [nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)]
    layers[1:-1] = [nn.Sigmoid(), nn.ReLU(True)]
""",
}


def told(made: str) -> set[str]:
    return {finding.code for finding in findings_of(Path("train.py"), NETWORK.format(made=made.strip()))}


@pytest.mark.parametrize("made", IN_TURN.values(), ids=IN_TURN)
def test_layers_that_follow_one_another(made: str) -> None:
    assert told(made) == set()


@pytest.mark.parametrize("made", WRITTEN.values(), ids=WRITTEN)
def test_a_layer_that_writes_over_what_the_one_before_has_saved(made: str) -> None:
    assert told(made) == {"GF401"}

"""A graph that is stored, and met again by each later backward(), is one fault: it is told where it is stored (GF102, GF203)."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

SETUP = """
import torch
from torch import nn
net = nn.Linear(3, 3)
alpha = nn.Parameter(torch.ones(3))
opt = torch.optim.SGD([*net.parameters(), alpha], 0.1)
data = [torch.randn(4, 3) for _ in range(5)]
"""
STORED = {
    "outputs of an evaluation": """
bank = []
def evaluate(net, data):
    for x in data:
        bank.append(net(x))
for epoch in range(3):
    for x in data:
        loss = net(x).pow(2).mean()
        if bank:
            loss = loss + torch.cat(bank).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    evaluate(net, data)
""",
    "weights by their name": """
seen = {"weights": []}
for epoch in range(3):
    for x in data:
        loss = net(x).pow(2).mean() + sum(w.pow(2).sum() for w in seen["weights"])
        opt.zero_grad()
        loss.backward()
        opt.step()
    seen["weights"].append(alpha.softmax(0))
""",
    "what an object remembers": """
class Memory:
    def __init__(self):
        self.rows = []
    def add(self, row):
        self.rows.append(row)
    def near(self, x):
        return sum((x - row).pow(2).mean() for row in self.rows)
memory = Memory()
for epoch in range(3):
    for x in data:
        loss = net(x).pow(2).mean() + memory.near(net(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
    for x in data:
        memory.add(net(x).mean(0))
""",
}
TWO = """
hist = []
for epoch in range(3):
    w = alpha.softmax(0)
    for x in data:
        loss = (net(x) * w).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    hist.append(net(x))
"""


def told(program: str) -> list[str]:
    return [each.code for each in findings_of(Path("train.py"), SETUP + program) if each.code in ("GF102", "GF203")]


@pytest.mark.parametrize("program", STORED.values(), ids=STORED)
def test_one_graph_is_told_once(program: str) -> None:
    assert len(told(program)) == 1


def test_another_graph_is_told_as_well() -> None:
    assert sorted(told(TWO)) == ["GF102", "GF203"]

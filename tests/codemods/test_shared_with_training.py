"""GF103: a function that training also calls, where no run comes to, records for it; its caller that evaluates records for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

SHARED = {
    "a method that forward() calls": {
        "model.py": """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.last = nn.Linear(4, 4)

    def logits(self, x, shift):
        x = torch.relu(self.first(x))
        return self.last(shift(x))

    def forward(self, x):
        return self.logits(x, lambda y: y + 1)

    def generate(self, count):
        self.eval()
        x = torch.zeros(1, 4)
        for _ in range(count):
            scores = self.logits(x, lambda y: y)
            x = torch.nn.functional.one_hot(scores.argmax(-1), 4).float()
        return self.last(x)
"""
    },
    "a function whose loss another file trains": {
        "losses.py": """
import torch
from torch import nn

model = nn.Linear(4, 1)

def error(x, y):
    return (model(x) - y).pow(2).mean()

def validate(batches):
    model.eval()
    total = 0.0
    for x, y in batches:
        total += error(x, y).item()
    return total, model(x)
""",
        "train.py": """
import sys
import torch
import losses

def fit(batches):
    optimizer = torch.optim.SGD(losses.model.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        losses.error(x, y).backward()
        optimizer.step()
""",
    },
    "an encoder that the trainer of another file drives": {
        "net.py": """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.GRUCell(4, 4)

    def encode(self, x):
        state = torch.zeros(1, 4)
        for row in x:
            state = self.encoder(row, state)
        return state

    def embed(self, batches):
        self.eval()
        shown = []
        for batch in batches:
            shown.append(self.encode(batch).sum().item())
        return shown, self.encoder(batches[0])
""",
        "trainer.py": """
import torch
from net import Net

class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(self, batch):
        self.optimizer.zero_grad()
        self.net.encode(batch).pow(2).mean().backward()
        self.optimizer.step()
""",
    },
    "a method of which another class has one, too, that training calls": {
        "policies.py": """
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 4)

    def state_of(self, x):
        return torch.tanh(self.net(x))

class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 9), nn.Linear(9, 4))

    def state_of(self, x):
        return torch.tanh(self.net(x))

def error(model, x):
    return model.state_of(x).pow(2).mean()
""",
        "main.py": """
import torch
from policies import Large, Small, error

model = Small() if torch.cuda.is_available() else Large()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    print(model.state_of(torch.zeros(1, 4)).argmax().item())
    optimizer.zero_grad()
    error(model, torch.randn(2, 4)).backward()
    optimizer.step()
""",
    },
}
EVALUATION = {
    "model.py": "for _ in range(count)",
    "losses.py": "for x, y in batches",
    "net.py": "for batch in batches",
    "policies.py": "print(model.state_of(torch.zeros(1...",
}


@pytest.mark.parametrize("files", SHARED.values(), ids=SHARED)
def test_the_caller_that_evaluates_is_told(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    examined = [tmp_path / name for name in files]
    job = Job((tmp_path,), Wanted(), examined=frozenset(examined))
    told = {finding.message.split("`")[1] for path in examined for finding in examine(path, job).findings if finding.code == "GF103"}
    assert told == {EVALUATION[next(iter(files))]}

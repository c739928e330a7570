"""Programs that raise, and what Python prints of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CARRIED = """\
import torch
import torch.nn.functional as F
from torch import nn


def train(rnn, optimizer):
    h = torch.zeros(1, 3, 8)
    for step in range(5):
        x, y = torch.randn(4, 3, 4), torch.randn(4, 3, 8)
        out, h = rnn(x, h)
        loss = F.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


rnn = nn.GRU(4, 8)
train(rnn, torch.optim.SGD(rnn.parameters(), lr=0.1))
"""

TWO_LOSSES = """\
import torch
import torch.nn.functional as F
from torch import nn

trunk, head_a, head_b = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 1)
features = torch.tanh(trunk(torch.randn(3, 4)))
loss_a = F.mse_loss(head_a(features), torch.zeros(3, 1))
loss_b = F.mse_loss(head_b(features), torch.ones(3, 1))
loss_a.backward()
loss_b.backward()
"""

IN_PLACE = """\
import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.value = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        gate += 0.1
        return gate * self.value(x)


loss = Gated()(torch.randn(2, 4)).sum()
loss.backward()
"""

LEGACY = """\
import torch
import torch.nn.functional as F

model = torch.nn.Linear(4, 1)
loss = F.mse_loss(model(torch.randn(3, 4)), torch.zeros(3, 1))
loss.backward()
print(loss.data[0])
"""

# the graph is cut where reading the code does not follow
UNSEEN = """\
import torch

x = torch.randn(3)
loss = x.sum()
loss.backward()
"""

# a framework between the script and backward(), which lies among the packages
FRAMEWORK = """\
def fit(step, count):
    for number in range(count):
        step(number)
"""

FITTED = """\
import sys

import torch

sys.path.append("lib/python3.11/site-packages")
from fitter.loop import fit

w = torch.randn(3, requires_grad=True)
scale = (w * w).sum()


def step(number):
    loss = scale * number
    loss.backward()


step(0)
fit(step, 2)
"""


def error_of(folder: Path, name: str, text: str, *, options: tuple[str, ...] = ()) -> bytes:
    """What the program prints when it is run; it lies in `folder` afterwards."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    done = subprocess.run([sys.executable, *options, name], cwd=folder, capture_output=True, timeout=600, check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr

"""Programs that autograd refuses, with the lines of their story in comments, and how one is traced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# without an optimizer: the first one imports as much as torch itself, in each of the many runs
HEAD = """import sys
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 4)
x = torch.ones(2, 4)
"""
ERRORS = {
    "state that a loop carries": (
        """
rnn = nn.RNN(4, 4, batch_first=True)
def train():
    h = torch.zeros(1, 2, 4)
    for step in range(4):
        out, h = rnn(x[:, None], h)  # made, taken in
        loss = out.pow(2).mean()
        loss.backward()  # freed, hit
train()
""",
        {"made": "made", "freed": "freed", "crossing": "taken in", "now": "hit", "carrier": "h"},
    ),
    "state that a module keeps": (
        """
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.state = torch.zeros(2, 4)
    def forward(self, x):
        self.state = torch.tanh(self.layer(x) + self.state)  # made, taken in
        return self.state
cell = Cell()
for _ in range(3):
    cell(x).sum().backward()  # freed, hit
""",
        {"made": "made", "freed": "freed", "crossing": "taken in", "now": "hit", "carrier": "self.state"},
    ),
    "one trunk, two losses": (
        """
def step():
    features = torch.tanh(net(x))  # made
    one, two = features.sum(), features.pow(2).sum()
    one.backward()  # freed
    two.backward()  # hit
step()
""",
        {"made": "made", "freed": "freed", "now": "hit", "carrier": "features"},
    ),
    "a memory of graphs": (
        """
memory = []
def remember():
    memory.append(net(x).exp())  # made
remember()
for _ in range(2):
    sample = memory[0]
    (sample * 2).sum().backward()  # freed, hit, taken in
""",
        {"made": "made", "freed": "freed", "now": "hit", "carrier": "memory[0]"},
    ),
    "gradients asked for twice": (
        """
loss = net(x).exp().sum()  # made
torch.autograd.grad(loss, net.weight)  # freed
torch.autograd.grad(loss, net.weight)  # hit
""",
        {"made": "made", "freed": "freed", "now": "hit", "carrier": "loss"},
    ),
    "an operation of one's own": (
        """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return v * v
    @staticmethod
    def backward(ctx, g):
        v, = ctx.saved_tensors
        return 2 * v * g
w = torch.ones(3, requires_grad=True)
y = Square.apply(w)  # made
y.sum().backward()  # freed
y.sum().backward()  # hit, taken in
""",
        {"made": "made", "freed": "freed", "now": "hit", "carrier": "y"},
    ),
    "a step between": (
        """
second = nn.Linear(4, 1)
opt = torch.optim.SGD(second.parameters(), lr=0.1)
out = second(net(x))  # made
opt.zero_grad()
out.sum().backward(retain_graph=True)
opt.step()  # written
out.pow(2).sum().backward()  # hit
""",
        {"made": "made", "write": "written", "now": "hit", "carrier": "second.weight"},
    ),
    "a masked write": (
        """
mask = torch.ones(2, 4)
y = net(x) * mask  # made
mask[0] = 0.0  # written
y.sum().backward()  # hit
""",
        {"made": "made", "write": "written", "now": "hit", "carrier": "mask"},
    ),
    "a layer that writes": (
        """
out = nn.Sequential(nn.Sigmoid(), nn.Dropout(0.5, inplace=True))
y = out[0](net(x))  # made
z = out[1](y)  # written
z.sum().backward()  # hit
""",
        {"made": "made", "write": "written", "now": "hit", "carrier": "y"},
    ),
    "in a thread": (
        """
import threading
features = torch.tanh(net(x))  # made
def work():
    features.sum().backward()  # freed, hit, taken in
for _ in range(2):
    try:
        thread = threading.Thread(target=work); thread.start(); thread.join()
    finally:
        pass
sys.exit(1)
""",
        {"made": "made", "freed": "freed", "now": "hit", "carrier": "features"},
    ),
}

for word, made, call, inner, outer in (
    ("compiled", "torch.compile(step, backend='aot_eager')", "f(x, h)", "", "made, taken in"),  # as one
    ("in another precision", "torch.autocast('cpu', torch.bfloat16)(step)", "f(x, h)", "made, taken in", ""),
    ("checkpointed", "checkpoint", "f(step, x, h, use_reentrant=False)", "made, taken in", ""),
):
    ERRORS[word] = (
        f"""
from torch.utils.checkpoint import checkpoint
def step(x, h):
    return torch.tanh(net(x) + h)  # {inner}
f = {made}
h = torch.zeros(2, 4)
for _ in range(3):
    h = {call}  # {outer}
    h.sum().backward()  # freed, hit
""",
        {"freed": "freed", "crossing": "taken in", "now": "hit", "carrier": "h"},
    )
ERRORS["workers that load"] = (
    """
from torch.utils.data import DataLoader
def main():
    h = torch.zeros(2, 4)
    for batch in DataLoader(list(torch.ones(8, 4)), batch_size=2, num_workers=2):
        h = torch.tanh(net(batch) + h)  # made, taken in
        h.sum().backward()  # freed, hit
if __name__ == "__main__":
    main()
""",
    {"made": "made", "freed": "freed", "crossing": "taken in", "now": "hit", "carrier": "h"},
)


def traced(
    graphfix: Any, tmp_path: Path, script: str, *options: str, name: str = "train.py", **more: Any
) -> tuple[Any, dict[str, Any]]:
    (tmp_path / name).write_text(script)
    done = graphfix("trace", *options, "--save", "kept.json", name, **more)
    kept = tmp_path / "kept.json"
    return done, json.loads(kept.read_text()) if kept.exists() else {}


def line_of(script: str, word: str) -> int:
    (row,) = [row for row, line in enumerate(script.splitlines(), 1) if word in line.partition("# ")[2].split(", ")]
    return row

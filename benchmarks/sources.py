"""Source files to measure with: an ordinary training script, one that is large, deep and full of branches, and one with many names."""

from __future__ import annotations

from collections.abc import Iterator

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F

"""

LAYER = """\

class Block{n}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)

    def forward(self, x):
        h = F.relu(self.first(x))
        if self.training:
            h = F.dropout(h, 0.1)
        return x + self.second(h)

"""

TRAINING = """\

def train(model, loader, optimizer, epochs=3):
    history = []
    for epoch in range(epochs):
        total = 0.0
        for step, (x, y) in enumerate(loader):
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss
            if step % 100 == 0:
                print(epoch, step, loss.item())
        history.append(total / len(loader))
    return history


def main():
    model = nn.Sequential({blocks})
    optimizer = torch.optim.Adam(model.parameters())
    loader = [(torch.randn(8, 16), torch.randn(8, 16)) for _ in range(4)]
    print(train(model, loader, optimizer))


if __name__ == "__main__":
    main()
"""


def ordinary(lines: int = 300) -> str:
    """A training script of about `lines` lines: layers, a training loop, a main function."""
    blocks = max(1, (lines - 40) // (LAYER.count("\n") + 1))
    layers = "".join(LAYER.format(n=n) for n in range(blocks))
    return HEAD + layers + TRAINING.format(blocks=", ".join(f"Block{n}(16)" for n in range(blocks)))


def deep(lines: int = 5_000) -> str:
    """About `lines` lines of classes and functions that call one another, each with loops in loops and ifs in ifs."""
    made = [HEAD]
    count = made[0].count("\n")
    number = 0
    while count < lines:
        piece = "\n".join((*deep_class(number), "", *deep_function(number), "", ""))
        made.append(piece)
        count += piece.count("\n")
        number += 1
    made.append("\n".join(f"run{n}(Net{n}(), flags, data)" for n in range(number)) + "\n")
    return "".join(made)


def deep_class(number: int) -> Iterator[str]:
    yield f"class Net{number}(nn.Module):"
    yield "    def __init__(self):"
    yield "        super().__init__()"
    yield "        self.layer = nn.Linear(4, 4)"
    yield "        self.state = torch.zeros(4)"
    yield ""
    yield "    def forward(self, x, flags):"
    for branch in range(12):
        yield f"        if flags.mode{branch} > {branch}:"
        yield f"            x = self.layer(x) + self.state * {branch}"
        yield f"        elif flags.kind{branch}:"
        yield "            x = torch.tanh(x)"
    yield "        self.state = x.mean(0)"
    yield "        return x"


def deep_function(number: int, depth: int = 6) -> Iterator[str]:
    yield f"def run{number}(net, flags, data):"
    yield "    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"
    yield "    total, logs = 0.0, []"
    for level in range(3):
        yield "    " * (level + 1) + f"for item{level} in data:"
    inside = "    " * 4
    yield inside + "loss = net(item2, flags).pow(2).mean()"
    for level in range(depth):
        yield inside + "    " * level + f"if flags.deep{level} != item{level % 3}:"
        yield inside + "    " * (level + 1) + f"loss = loss + {level} * net(item1, flags).sum()"
    for level in range(depth):
        yield inside + f"if flags.flat{level}:"
        yield inside + f"    logs.append(loss * {level})"
        yield inside + "else:"
        yield inside + f"    total = total - {level}"
    yield inside + "optimizer.zero_grad()"
    yield inside + "loss.backward()"
    yield inside + "optimizer.step()"
    yield inside + "total += loss"
    if number:
        yield f"    return run{number - 1}(net, flags, total)"
    else:
        yield "    return total, logs"


def wide(names: int = 300) -> str:
    """A total that lies under `names` keys of a dict with as many names: as many places to follow it to as their product."""
    begin = "w = torch.ones(3, requires_grad=True)\ntotal = 0.0\n"
    loop = "for step in range(3):\n    (w * w).sum().backward()\n    penalty = w.abs().sum()\n    total += penalty\ntable0 = {}\n"
    keys = "".join(f"table0['{number}'] = total\n" for number in range(names))
    aliases = "".join(f"table{number + 1} = table{number}\n" for number in range(names))
    return f"{HEAD}{begin}{loop}{keys}{aliases}print(len(table{names}))\n"

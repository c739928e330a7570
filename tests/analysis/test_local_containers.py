"""Containers that a call makes, in whatever way, end with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import collections
import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
Logs = collections.namedtuple("Logs", "size more")

def losses(x):
    out = net(x)
    return {{"loss": out.pow(2).mean(), "size": out.detach().norm()}}

def take(**given):
    given["training_loss"] = given["loss"].mean()
    return given["training_loss"]

def step(x):
    made = losses(x)
    {logs}
    for name in logs:
        print(name, logs[name].mean().item())
    return loss

for i in range(4):
    optimizer.zero_grad()
    step(torch.randn(4, 3)).backward()
    optimizer.step()
"""
PUT = "loss = made['loss'].mean(); logs['training_loss'] = loss"
MADE = {
    "copied": f"logs = made.copy(); {PUT}",
    "by a comprehension": f"logs = {{k: v for k, v in made.items()}}; {PUT}",
    "by a display": f"logs = {{**made}}; {PUT}",
    "by its class": f"logs = dict(made); {PUT}",
    "joined": f"logs = made | {{}}; {PUT}",
    "of a record": f"logs = Logs(made['size'], made['size'])._asdict(); {PUT}",
    "as a default": f"logs = collections.defaultdict(float, made); {PUT}",
    "of keywords": "loss = take(**made); logs = {'size': made['size']}",
}


def codes(logs: str) -> list[str]:
    program = PROGRAM.format(logs=logs)
    exec(compile(program, "logs.py", "exec"), {"__name__": "__main__"})
    return [finding.code for finding in findings_of(Path("logs.py"), program)]


@pytest.mark.parametrize("logs", MADE.values(), ids=MADE)
def test_what_a_call_makes_ends_with_it(logs: str) -> None:
    assert codes(logs) == []

"""A variable that only arms of an `if` without `else` bind has one of their values where it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

HEAD = """\
import sys
import torch
from torch import nn

kind = sys.argv[1]
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)]
"""
TAIL = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def evaluate():
    model.eval()
    losses = [(model(x) - y).pow(2).mean().item() for x, y in loader]
    print(sum(losses))

for epoch in range(3):
    model.train()
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    evaluate()
"""
MADE = {
    "one of two": "if kind == 'a':\n    model = nn.Linear(4, 1)\nelif kind == 'b':\n    model = nn.Sequential(nn.Linear(4, 1))\n",
    "one after the other": "if kind == 'a':\n    model = nn.Linear(4, 1)\nif kind == 'b':\n    model = nn.Sequential(nn.Linear(4, 1))\n",
    "only one": "if len(sys.argv) > 1:\n    model = nn.Linear(4, 1)\n",
    "in a function": (
        "def make(kind):\n    if kind == 'a':\n        net = nn.Linear(4, 1)\n    elif kind.startswith('b'):\n"
        "        net = nn.Sequential(nn.Linear(4, 1))\n    return net\n\nmodel = make(kind)\n"
    ),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_an_arm_that_was_passed_by_is_taken(made: str) -> None:
    (finding,) = findings_of(Path("train.py"), HEAD + made + TAIL)
    assert finding.code == "GF103" and finding.fix is not None and finding.fix.applicability is Applicability.SAFE


def test_what_no_arm_binds_is_out_of_sight() -> None:
    made = "if kind == 'a':\n    name = 'linear'\n"
    (finding,) = findings_of(Path("train.py"), "from elsewhere import *\n" + HEAD + made + TAIL)
    assert finding.fix is None or finding.fix.applicability is Applicability.UNSAFE

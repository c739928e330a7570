"""Slices of a list that a loop has filled: the simulation runs the first iterations only, and the list holds more than these."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

PROGRAM = """\
import collections
import random
import torch
from torch import nn

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
data = [torch.randn(5, 3) for _ in range(9)]
for x in data[:6]:
    optimizer.zero_grad()
    net(x).mean().backward()
    optimizer.step()
total = 0
for x in {}:
    total += net(x).mean()
print(total.item())
"""
LOSSES = """\
import torch
from torch import nn

net = nn.Linear(3, 1)
losses = [net(torch.randn(5, 3)).mean() for _ in range(9)]
for loss in {}:
    loss.backward()
losses[0].backward()
"""


def codes(tmp_path: Path, text: str) -> set[str]:
    return {finding.code for finding in findings_of(tmp_path / "train.py", text, (tmp_path,))}


@pytest.mark.parametrize(
    "taken",
    (
        "data[6:]",
        "data[-3:]",
        "data[::2]",
        "data[6:][1:]",
        "list(data)[6:]",
        "tuple(data)[6:]",
        "sorted(data, key=len)[6:]",
        "[*data][6:]",
        "data.copy()[6:]",
        "(data + data)[9:]",
        "[each for each in data][6:]",
        "list(map(torch.relu, data))[6:]",
        "collections.deque(data[6:])",
        "reversed(data[6:])",
    ),
)
def test_a_part_behind_the_simulated_items_is_not_empty(tmp_path: Path, taken: str) -> None:
    assert "GF103" in codes(tmp_path, PROGRAM.format(taken))


@pytest.mark.parametrize("taken", ("[torch.ones(5, 3), torch.ones(5, 3)][2:]", "data[:0]", "data[3:3]"))
def test_what_holds_nothing_is_empty(tmp_path: Path, taken: str) -> None:
    assert not codes(tmp_path, PROGRAM.format(taken))


@pytest.mark.parametrize(("taken", "is_told"), (("losses[:-1]", True), ("losses[::2]", True), ("losses[1:]", False), ("losses[6:]", False)))
def test_each_item_with_a_graph_is_one_of_its_own(tmp_path: Path, taken: str, is_told: bool) -> None:
    assert ("GF302" in codes(tmp_path, LOSSES.format(taken))) is is_told


APART = (
    "losses[1].backward()\nfor loss in losses[6:]:\n    loss.backward()\n",
    "losses[0].backward()\nfor loss in losses[-3:]:\n    loss.backward()\n",
    "sum(losses[:4]).backward()\nsum(losses[4:]).backward()\n",
)


@pytest.mark.parametrize("walks", APART)
@pytest.mark.parametrize("made", ("net(torch.randn(5, 3)).mean()", "(net(torch.randn(5, 3)).mean(), 0)[0]"))
def test_the_end_of_a_list_is_not_its_beginning(tmp_path: Path, made: str, walks: str) -> None:
    text = LOSSES.partition("losses =")[0] + f"losses = [{made} for _ in range(9)]\n" + walks
    exec(compile(text, "train.py", "exec"), {})
    assert not codes(tmp_path, text)

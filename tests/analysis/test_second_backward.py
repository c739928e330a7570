"""Second walks over what modules out of sight gave: shown by the first walk, or by the optimizer that trains them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

TRAIN = """
import torch
from torch import optim
from torch.nn import functional as F

def train(net, other, loader, x, y):
    opt = optim.Adam(net.parameters())
    {before}
    for x, y in loader:
        opt.zero_grad()
        {body}
        opt.step()
"""


def told(body: str, before: str = "pass") -> list[tuple[str, Applicability | None]]:
    text = TRAIN.format(before=before.replace("\n", "\n    "), body=body.replace("\n", "\n        "))
    return [(each.code, each.fix.applicability if each.fix else None) for each in findings_of(Path("train.py"), text)]


@pytest.mark.parametrize(
    ("body", "before", "expected"),
    [
        ("total += F.mse_loss(net(x), y)\ntotal.backward()", "total = 0", ("GF204", Applicability.SAFE)),
        ("loss = F.mse_loss(net(x), y)\nloss.backward()\nloss.backward()", "pass", ("GF302", Applicability.SAFE)),
        ("out = net(x)\nF.mse_loss(out, y).backward()\nF.l1_loss(out, y).backward()", "pass", ("GF301", Applicability.UNSAFE)),
        ("F.mse_loss(net(x), known).backward()", "known = net(x)", ("GF203", None)),
    ],
)
def test_a_graph_of_a_module_out_of_sight_is_walked_twice(
    body: str, before: str, expected: tuple[str, Applicability | None]
) -> None:
    assert told(body, before) == [expected]


@pytest.mark.parametrize(
    ("body", "before"),
    [
        # nobody trains the other one
        ("F.mse_loss(net(x), known).backward()", "known = other(x)"),
        ("F.mse_loss(net(x), known).backward()", "net.requires_grad_(False)\nknown = net(x)"),
        # a module may cut what it is given
        ("out, state = net(x, state)\nF.mse_loss(out, y).backward()", "state = None"),
        ("F.mse_loss(net(x) + other(known), y).backward()", "known = net(x)"),
        # what is walked once more is nothing that is known to be made here
        ("y.backward()\ny.backward()", "pass"),
    ],
)
def test_what_may_be_no_graph_any_more(body: str, before: str) -> None:
    assert told(body, before) == []


def test_a_list_that_is_emptied_where_its_loop_ends_is_left_alone() -> None:
    text = """
import torch

class Agent:
    def __init__(self, policy, env):
        self.policy, self.env = policy, env
        self.optimizer = torch.optim.Adam(policy.parameters())

    def episode(self):
        self.kept, self.done = [], False
        while not self.done:
            state, self.done = self.env.step()
            self.kept.append(self.policy(state).log())
            if self.done:
                loss = -torch.cat(self.kept).sum()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
"""
    assert findings_of(Path("agent.py"), text) == []

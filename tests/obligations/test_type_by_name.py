"""A number is put away for a tensor only where its type is known: a type may be asked for by a name that the code does not spell."""

from __future__ import annotations

import pytest

from tests.obligations.programs import safe_titles

PROGRAM = """
import argparse, json
import torch
from torch import nn

settings = json.load(open("settings.json"))
net = nn.Linear(3, 1)
{before}
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for step in range(9):
    loss = net(torch.randn(6, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
print(float(total) / 9)
"""
BY_NAME = {
    "a name from a file": "net = net.to(getattr(torch, settings['type']))",
    "a name that is put together": "net = getattr(net, 'bfloat' + '16')()",
    "a name with a number": "net = net.to(getattr(torch, f\"float{settings['bits']}\"))",
    "a conversion by a setting": "net = getattr(net, settings['type'])()",
    "the names of torch": "net = net.to(vars(torch)[settings['type']])",
    "the same by its dict": "net = net.to(torch.__dict__[settings['type']])",
}  # fmt: skip
OTHERS = {
    "an optimizer by its name": "opt = getattr(torch.optim, settings['optimizer'])(net.parameters(), lr=0.1)",
    "an attribute by its name": "weight = getattr(net, settings['what'])",
    "a known name": "net = getattr(net, 'flo' + 'at')()",
}  # fmt: skip


def kinds(before: str) -> list[str]:
    titles = [title for code, title in safe_titles(PROGRAM.format(before=before)) if code == "GF101"]
    return ["number" if ".item()" in title else "tensor" for title in titles]


@pytest.mark.parametrize("case", BY_NAME)
def test_a_type_that_is_not_known_takes_no_number(case: str) -> None:
    assert kinds(BY_NAME[case]) == ["tensor"]


@pytest.mark.parametrize("case", OTHERS)
def test_other_names_stand_in_no_way(case: str) -> None:
    assert kinds(OTHERS[case]) == ["number"]

"""Tensors that are moved to a device: on the one that they are on already they stay the leaf that they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

PROGRAM = """\
import torch
from torch import nn
from torch.autograd import Variable

use_cuda = torch.cuda.is_available()
device, other = torch.device("cuda" if use_cuda else "cpu"), torch.device("cuda:1")
t = torch.zeros(3)

def picture(t):
    if use_cuda:
        return Variable(t.cuda(), requires_grad=True)
    return Variable(t, requires_grad=True)

{made}
optimizer = torch.optim.SGD([x], lr=0.1)
x.pow(2).sum().backward()
optimizer.step()
"""
STAYS = {
    "under the same condition": "x = picture(t)\nif use_cuda:\n    x = x.cuda()",
    "moved before it became a leaf": "x = t.to(device).requires_grad_()\nx = x.to(device)",
    "made there": "x = torch.zeros(3, device=device, requires_grad=True).to(device)",
    "a view of what is there": "x = t.cuda().view(3, 1).detach().requires_grad_()\nx = x.to('cuda', non_blocking=True)",
    "a parameter of what is there": "x = nn.Parameter(t.cuda(0)).cuda(0)",
    "by its keyword": "x = t.to(device).requires_grad_()\nx = x.to(device=device)",
}
MOVES = {
    "it was elsewhere": "x = t.cpu().requires_grad_()\nx = x.cuda()",
    "nobody knows where it was": "x = t.requires_grad_()\nx = x.to(device)",
    "to another one": "x = t.to(device).requires_grad_()\nx = x.to(other)",
    "to another type, too": "x = t.to(device).requires_grad_()\nx = x.to(device, torch.float64)",
    "a copy is asked for": "x = t.to(device).requires_grad_()\nx = x.to(device, copy=True)",
    "there and back": "x = t.cuda().requires_grad_()\nx = x.cpu().cuda()",
}


def codes(made: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("program.py"), PROGRAM.format(made=made)) if finding.code < "GF9"]


@pytest.mark.parametrize("made", STAYS.values(), ids=STAYS)
def test_what_is_there_already_stays_a_leaf(made: str) -> None:
    assert codes(made) == []


@pytest.mark.parametrize("made", MOVES.values(), ids=MOVES)
def test_what_is_moved_is_none(made: str) -> None:
    assert codes(made) == ["GF205"]

"""A `forward` that a program puts on one object: calling the object runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

HEAD = """\
import types
from types import MethodType
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.state = torch.zeros(4)

    def forward(self, x):
        return self.cell(x)


def with_state(self, x):
    self.state = torch.tanh(self.cell(x) + self.state)
    return self.state


def with_leaf(self, x):
    bias = torch.zeros(4, requires_grad=True)
    bias[0] = 1
    return self.cell(x) + bias


def bare(x):
    return (x @ net.cell.weight).argmax(-1).float()


net, other, layer = Net(), Net(), nn.Linear(4, 4)
kept = []


def with_all(self, x):
    kept.append(nn.functional.linear(x, self.weight).tanh())
    return torch.stack(kept).sum(0)


"""
TRAINING = """
for _ in range(3):
    loss = {name}(torch.randn(2, 4)).pow(2).sum()
    loss.backward()
"""
FOUND = {
    "a state": ("net.forward = types.MethodType(with_state, net)", "net", "GF202"),
    "a leaf": ("net.forward = MethodType(with_leaf, net)", "net", "GF313"),
    "by the descriptor": ("net.forward = with_state.__get__(net, Net)", "net", "GF202"),
    "a plain function": ("net.forward = bare", "net", "GF310"),
    "of a layer": ("layer.forward = MethodType(with_all, layer)", "layer", "GF102"),
}
LEFT_ALONE = {
    "another object": ("other.forward = MethodType(with_state, other)", "net"),
    "under another name": ("net.step = MethodType(with_state, net)", "net"),
    "a method that is not called": ("MethodType(with_leaf, net)", "net"),
}


def codes(patch: str, name: str) -> list[str]:
    program = HEAD + patch + TRAINING.format(name=name)
    return [finding.code for finding in findings_of(Path("train.py"), program)]


@pytest.mark.parametrize(("patch", "name", "code"), FOUND.values(), ids=FOUND)
def test_what_it_does_is_found(patch: str, name: str, code: str) -> None:
    assert code in codes(patch, name)


@pytest.mark.parametrize(("patch", "name"), LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_another_object_has_is_not(patch: str, name: str) -> None:
    assert codes(patch, name) == []

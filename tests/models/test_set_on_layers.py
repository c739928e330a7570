"""A layer computes with what is set on it: what is made for it is walked from its loss, whoever names the attribute."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import analyse

BUILDS = {
    "every parameter of every layer, by its name": """
import torch
from torch import nn

class Noisy(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.means = {}
        for name, child in net.named_children():
            self.means[name] = {key: nn.Parameter(p.data.clone()) for key, p in child._parameters.items()}

    def build(self):
        for name, child in self.net.named_children():
            for key, p in self.means[name].items():
                setattr(child, key, p + 0.1 * torch.randn_like(p) * p.exp())

    def forward(self, x):
        self.build()
        return self.net(x)

    def penalty(self):
        total = 0.0
        for _ in range(2):
            self.build()
            total = total + sum(p.pow(2).sum() for group in self.means.values() for p in group.values())
        return total

model = Noisy(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)))
optimizer = torch.optim.SGD([p for group in model.means.values() for p in group.values()], lr=0.1)
for step in range(10):
    loss = model(torch.randn(2, 4)).pow(2).mean() + model.penalty()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "an object's fields, by the words of a file": """
import torch
from torch import nn

scale = nn.Parameter(torch.ones(4))

class Bank:
    def total(self):
        return self.first.sum() + self.second.sum()

def fill(bank, words):
    for word in words:
        setattr(bank, word, scale.exp() * torch.randn(4))

bank = Bank()
optimizer = torch.optim.SGD([scale], lr=0.1)
for step in range(10):
    words = open("words").read().split()
    fill(bank, words)
    optimizer.zero_grad()
    bank.total().backward()
    optimizer.step()
    fill(bank, words)
    print(step)
""",
    "the weight of one layer, by an attribute": """
import torch
from torch import nn

layer = nn.Linear(4, 4)
mean = nn.Parameter(torch.zeros(4, 4))
del layer.weight
optimizer = torch.optim.SGD([mean], lr=0.1)

def rebuild(count):
    for _ in range(count):
        layer.weight = mean + torch.randn(4, 4) * mean.exp()

rebuild(3)
for step in range(10):
    rebuild(2)
    optimizer.zero_grad()
    layer(torch.randn(2, 4)).pow(2).mean().backward()
    optimizer.step()
""",
}
SECOND_WALK = """
import torch
from torch import nn

layer = nn.Linear(4, 4)
mean = nn.Parameter(torch.zeros(4, 4))
del layer.weight
{name} = mean.exp()
for step in range(10):
    layer(torch.randn(2, 4)).pow(2).mean().backward()
"""


@pytest.mark.parametrize("text", BUILDS.values(), ids=BUILDS)
def test_what_is_made_for_a_layer_is_no_evaluation(text: str) -> None:
    assert "GF103" not in [finding.code for finding in analyse(Path("train.py"), text).findings]


@pytest.mark.parametrize("name", ["layer.weight", 'layer._parameters["weight"]'])
def test_a_layer_walks_again_what_was_set_on_it_once(name: str) -> None:
    found = analyse(Path("train.py"), SECOND_WALK.format(name=name)).findings
    assert [finding.code for finding in found] == ["GF203"]


def test_what_a_layer_does_not_hold_is_not_walked() -> None:
    assert not analyse(Path("train.py"), SECOND_WALK.format(name="weight")).findings


def test_a_layer_gives_what_was_put_among_its_parameters() -> None:
    text = SECOND_WALK.format(name='layer._parameters["weight"]').replace("layer(torch.randn(2, 4))", "layer.weight")
    assert [finding.code for finding in analyse(Path("train.py"), text).findings] == ["GF203"]


@pytest.mark.parametrize("kept", ["layer.last = out", 'setattr(layer, "last", out)', "layer.seen = [out]"])
def test_what_a_layer_keeps_besides_is_no_part_of_what_it_computes(kept: str) -> None:
    text = f"""
import torch
from torch import nn

layer = nn.Linear(4, 4)
for step in range(10):
    out = layer(torch.randn(2, 4))
    out.pow(2).mean().backward()
    {kept}
"""
    assert not analyse(Path("train.py"), text).findings

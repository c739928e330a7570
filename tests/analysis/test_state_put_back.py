"""State of modules that is put back by others: by loops over all modules, through what keeps the modules, and by code out of sight."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

TRAINING = """
import copy, weakref
import torch
from torch import nn
from weakref import WeakKeyDictionary, WeakSet, ref
from library import Registry, prepare, reset_all

class Neuron(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = 0.0
        {setup}

    def forward(self, x):
        self.v = self.v + x
        return torch.sigmoid(self.v)

    def reset(self):
        self.v = 0.0

class Trainer:
    def __init__(self, net):
        self.net = net

    def train(self):
        for _ in range(5):
            loss = self.net(torch.randn(3, 4)).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            {end}

{before}
net = nn.Sequential(nn.Linear(4, 4), Neuron(), nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4), Neuron())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
trainer = Trainer(net)
trainer.train()
"""

CACHED = """
known = {made}

def reset_known(net):
    kept = known.get(net)
    if kept is None:
        kept = known[net] = tuple({keep} for m in net.modules() if callable(getattr(m, "reset", None)))
    for each in kept:
        {use}.reset()
"""


def codes(end: str, setup: str = "pass", before: str = "") -> set[str]:
    text = TRAINING.format(end=end.replace("\n", "\n            "), setup=setup, before=before)
    return {finding.code for finding in findings_of(Path("train.py"), text)}


def test_state_that_nobody_puts_back() -> None:
    assert codes("print(loss.item())") == {"GF202"}


@pytest.mark.parametrize(
    "end",
    [
        "for m in self.net.modules():\n    if hasattr(m, 'reset'):\n        m.reset()",
        "for m in self.net.modules():\n    if isinstance(m, Neuron):\n        m.reset()",
        "for m in self.net.children():\n    if callable(getattr(m, 'reset', None)):\n        m.reset()",
        "for name, m in self.net.named_modules():\n    if isinstance(m, Neuron):\n        m.v = 0.0",
        "for name, m in self.net.named_children():\n    if hasattr(m, 'reset'):\n        m.reset()",
        "for m in self.net:\n    if isinstance(m, Neuron):\n        m.reset()",
        "self.net.apply(lambda m: m.reset() if isinstance(m, Neuron) else None)",
    ],
)
def test_state_that_a_loop_over_the_modules_puts_back(end: str) -> None:
    assert codes(end) == set()


@pytest.mark.parametrize(
    ("made", "keep", "use"),
    [
        ("{}", "m", "each"),
        ("{}", "ref(m)", "each()"),
        ("WeakKeyDictionary()", "weakref.ref(m)", "each()"),
        ("WeakKeyDictionary()", "weakref.proxy(m)", "each"),
    ],
)
def test_state_that_is_put_back_through_what_keeps_the_modules(made: str, keep: str, use: str) -> None:
    assert codes("reset_known(self.net)", before=CACHED.format(made=made, keep=keep, use=use)) == set()


@pytest.mark.parametrize(
    ("end", "setup", "before"),
    [
        ("reset_all(self.net)", "pass", ""),
        ("reset_all(self)", "pass", ""),
        ("reset_all([self.net])", "pass", ""),
        ("self.net.apply(reset_all)", "pass", ""),
        ("registry.reset()", "registry.register(self)", "registry = Registry()"),
        ("for m in registry:\n    m.reset()", "registry.add(self)", "registry = Registry()"),
        ("registry.reset()", "registry[id(self)] = self", "registry = Registry()"),
        ("registry.reset()", "registry.neuron = self", "registry = Registry()"),
        ("registry.reset()", "registry.callbacks(on_step=self.reset)", "registry = Registry()"),
    ],
)
def test_state_that_code_out_of_sight_may_put_back(end: str, setup: str, before: str) -> None:
    assert codes(end, setup, before) == set()


@pytest.mark.parametrize("end", ["reset_all(self.net.parameters())", "reset_all(loss)", "registry.reset()"])
def test_state_that_code_out_of_sight_has_no_hold_of(end: str) -> None:
    assert codes(end, before="registry = Registry()") == {"GF202"}


def test_own_state_of_an_object_that_uses_what_its_library_gives_it() -> None:
    text = """
import torch
from library import Base

class Trainer(Base):
    def train(self, batches):
        self.hidden = torch.zeros(1)
        for x in batches:
            self.hidden = torch.tanh(self.net(x) + self.weight * self.hidden)
            loss = self.hidden.sum()
            loss.backward()
            self.log("loss", loss.item())

    def build(self):
        self.net = torch.nn.Linear(4, 1)
        self.weight = torch.nn.Parameter(torch.ones(1))

trainer = Trainer()
trainer.build()
trainer.train([torch.randn(2, 4) for _ in range(5)])
"""
    assert "GF202" in {finding.code for finding in findings_of(Path("train.py"), text)}


def test_modules_are_listed_as_torch_lists_them() -> None:
    """https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.named_modules"""
    torch = pytest.importorskip("torch")
    inner = torch.nn.Sequential(torch.nn.Tanh())
    outer = torch.nn.Sequential(inner, inner, torch.nn.ReLU())
    assert [name for name, _ in outer.named_modules()] == ["", "0", "0.0", "2"]
    assert [name for name, _ in outer.named_children()] == ["0", "2"]
    assert list(outer.modules())[0] is outer

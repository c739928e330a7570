"""Forward hooks: what the tape says of them is what torch does."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(2, 3)
seen = {}

def keep(module, given, made):
    seen["made"] = made

def change(module, given, made):
    return made.detach()

def cut(module, given):
    return tuple(value.detach() for value in given)

"""
RAISES = {
    "what a hook keeps": "net[0].register_forward_hook(keep)\nnet(x)\nloss = seen['made'].exp().sum()\nloss.backward()\nloss.backward()",
    "a hook of a whole model": "net.register_forward_hook(keep)\nnet(x)\nloss = seen['made'].exp().sum()\nloss.backward()\nloss.backward()",
    "a hook that was removed": "handle = net.register_forward_hook(change)\nhandle.remove()\nloss = net(x).exp().sum()\n"
    "loss.backward()\nloss.backward()",
    "a method of a module": "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.net = net\n"
    "        self.net[0].register_forward_hook(self.keep)\n    def keep(self, module, given, made):\n        self.made = made\n"
    "    def forward(self, x):\n        self.net(x)\n        return self.made.exp().sum()\n"
    "loss = Net()(x)\nloss.backward()\nloss.backward()",
    "a module of the program": "class Net(nn.Module):\n    def forward(self, x):\n        return net(x)\nwhole = Net()\n"
    "whole.register_forward_hook(keep)\nwhole(x)\nloss = seen['made'].exp().sum()\nloss.backward()\nloss.backward()",
}
WORKS = {
    "a hook that cuts": "net[0].register_forward_hook(change)\nlast = nn.Linear(1, 1)\nh = torch.zeros(2, 1)\nfor _ in range(3):\n"
    "    h = net(x + h)\n    last(h.detach()).sum().backward()",
    "a hook before that cuts": "net[2].register_forward_pre_hook(cut)\nweight = nn.Parameter(torch.ones(3))\nhidden = (x * weight).exp()\n"
    "for _ in range(3):\n    net[2](net[:2](hidden)).sum().backward()",
    "what a hook keeps is walked": "net[0].register_forward_hook(keep)\nnet.eval()\nfor _ in range(3):\n    net(x)\n"
    "    loss = seen['made'].exp().sum()\n    loss.backward()\n    print(loss.item())",
}


def raises(text: str) -> bool:
    try:
        exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as error:
        return "second time" in str(error)
    return False


def codes(text: str) -> list[str]:
    return [finding.code for finding in findings_of(Path("program.py"), text)]


@pytest.mark.parametrize("body", WORKS.values(), ids=WORKS)
def test_what_works_is_left_alone(body: str) -> None:
    assert not raises(HEAD + body)
    assert codes(HEAD + body) == []


@pytest.mark.parametrize("body", RAISES.values(), ids=RAISES)
def test_a_second_walk_through_a_hook_is_told(body: str) -> None:
    assert raises(HEAD + body)
    assert codes(HEAD + body)


UNKNOWN = """\
import torch
from models import backbone

features = {}

def keep(module, given, made):
    features["last"] = made

def energy(x):
    net = backbone()
    net.eval()
    net.layer4.register_forward_hook(keep)
    for _ in range(3):
        out = net(x)
        features["last"].pow(2).sum().backward()
    return x.grad.detach()
"""


def test_what_hooks_of_an_unknown_model_may_keep_is_no_graph_for_nobody() -> None:
    assert codes(UNKNOWN) == []
    assert "GF103" in codes(UNKNOWN.replace("    net.layer4.register_forward_hook(keep)\n", ""))

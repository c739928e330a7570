"""Functions of functions: what the tape says of them is what torch does."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn
from torch.autograd import functional
from torch.func import functional_call, grad, grad_and_value, vmap

torch.manual_seed(0)
net = nn.Linear(3, 1)
w = torch.randn(3, requires_grad=True)
x = torch.randn(4, 3)

def score(v):
    return (v * w).pow(2).sum()
"""
RAISES = {
    "the graph of a derivative": "slope = grad(score)(x[0])\nslope.sum().backward()\nslope.sum().backward()",
    "a derivative and the value": "slope, value = grad_and_value(score)(x[0])\nvalue.backward()\nvalue.backward()",
    "a mapped function": "values = vmap(score)(x)\nvalues.sum().backward()\nvalues.sum().backward()",
    "a recorded jacobian": "j = functional.jacobian(score, x[0], create_graph=True)\nj.sum().backward()\nj.sum().backward()",
    "other parameters": "v = functional_call(net, {'weight': w.exp().view(1, 3), 'bias': net.bias}, (x,))\n"
    "v.pow(2).sum().backward()\nv.pow(2).sum().backward()",
}
WORKS = {
    "each call computes anew": "for _ in range(2):\n    grad(score)(x[0]).sum().backward()",
    "a function that keeps what it computed last": "class Net(nn.Module):\n    def forward(self, v):\n        self.last = (v * w).pow(2)\n"
    "        return self.last.sum()\nnet = Net()\nfor _ in range(3):\n    functional.jacobian(net, x[0])\n    net.last.mean().backward()",
    "no graph without `create_graph`": "kept = []\nfor _ in range(3):\n    kept.append(functional.jacobian(score, x[0]))",
}


def raises(text: str) -> bool:
    try:
        exec(compile(text, "program.py", "exec"), {"__name__": "__main__"})
    except RuntimeError as error:
        return "second time" in str(error)
    return False


@pytest.mark.parametrize("program", RAISES.values(), ids=RAISES)
def test_a_second_walk(program: str) -> None:
    assert raises(HEAD + program)
    assert {finding.code for finding in findings_of(Path("train.py"), HEAD + program)} & {"GF301", "GF302"}


@pytest.mark.parametrize("program", WORKS.values(), ids=WORKS)
def test_what_works(program: str) -> None:
    assert not raises(HEAD + program)
    assert [finding.code for finding in findings_of(Path("train.py"), HEAD + program)] == []

"""GF318: a backward pass goes through gradients of compiled code."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import functools
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
x = torch.randn(8, 4, requires_grad=True)
"""
PENALTY = """
(g,) = torch.autograd.grad(score(x).sum(), x, create_graph=True)
opt.zero_grad()
g.square().sum().backward()
opt.step()
"""
TOLD = {
    "a module under a name of its own": 'score = torch.compile(net, backend="aot_eager")\n',
    "a module under its old name": 'net = torch.compile(net, backend="aot_eager")\ndef score(x):\n    return net(x)\n',
    "a module by its method": """
class Model(nn.Module):
    def forward(self, x):
        return net(x) * 2
score = Model()
score.compile(backend="aot_eager")
""",
    "a function": '@torch.compile(backend="aot_eager")\ndef score(x):\n    return net(x).relu()\n',
    "a function by name": 'def plain(x):\n    return net(x).square()\nscore = torch.compile(plain, backend="aot_eager")\n',
    "a module that a function gives": 'def made():\n    return torch.compile(net, backend="aot_eager")\nscore = made()\n',
    "a part of a module": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.compile(net, backend="aot_eager")
    def forward(self, x):
        return self.body(x) * 2
score = Model()
""",
    "a part of a loss": 'fast = torch.compile(net, backend="aot_eager")\ndef score(x):\n    return x.square() + fast(x)\n',
}
LEFT_ALONE = {
    "a backend that compiles no backward pass": 'score = torch.compile(net, backend="eager")\n' + PENALTY,
    "a module of torch by its method": 'net.compile(backend="aot_eager")\ndef score(x):\n    return net(x)\n' + PENALTY,
    "switched off": 'score = torch.compile(net, backend="aot_eager", disable=True)\n' + PENALTY,
    "the module itself is called": 'fast = torch.compile(net, backend="aot_eager")\ndef score(x):\n    return net(x)\n' + PENALTY,
    "first order": 'score = torch.compile(net, backend="aot_eager")\n(g,) = torch.autograd.grad(score(x).sum(), x)\nprint(g.sum().item())\n',
    "gradients that nobody goes through": 'score = torch.compile(net, backend="aot_eager")\n'
    "(g,) = torch.autograd.grad(score(x).sum(), x, create_graph=True)\nprint(g.sum().item())\n",
    "another module": 'fast = torch.compile(nn.Linear(4, 4), backend="aot_eager")\nfast(x.detach()).sum().backward()\n'
    "def score(x):\n    return net(x)\n" + PENALTY,
    "all that is compiled is behind the gradient": "@torch.compile(backend=\"aot_eager\")\ndef size(g):\n    return g.square().sum()\n"
    "(g,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)\nsize(g).backward()\n",
}


def told(program: str) -> list[Finding]:
    return [each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF318"]


def run(program: str) -> None:
    exec(compile(program, "train.py", "exec"), {})


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_torch_can_do_is_left_alone(program: str) -> None:
    assert told(program) == []


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_gradients_of_compiled_code_are_told(program: str) -> None:
    (finding,) = told(program + PENALTY)
    if "@torch" in program:
        assert finding.fix is None
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    run(apply_fixes(HEAD + program + PENALTY, [finding.fix]).text)


@pytest.mark.deep
@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_torch_refuses_what_is_told(program: str) -> None:
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        run(HEAD + program + PENALTY)


@pytest.mark.deep
@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_torch_does_what_is_left_alone(program: str) -> None:
    torch._dynamo.reset()
    run(HEAD + program)

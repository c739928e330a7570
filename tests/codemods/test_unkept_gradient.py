"""GF317: gradients of tensors that keep none."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 4), torch.randn(8, 4)
"""
LEFT_ALONE = {
    "a leaf": "a = x.clone().requires_grad_()\nnet(a).sum().backward()\nprint(a.grad)\n",
    "a parameter": "net(x).sum().backward()\nfor p in net.parameters():\n    print(p.grad)\n",
    "told to retain": "h = net(x)\nh.retain_grad()\nh.sum().backward()\nprint(h.grad)\n",
    "told to retain now and then": "h = net(x)\nif x.sum() > 0:\n    h.retain_grad()\nh.sum().backward()\nprint(h.grad)\n",
    "not walked yet": "h = net(x)\nprint(h.grad)\nh.sum().backward()\n",
    "a number of it": "h = net(x)\nh.sum().backward()\nprint(h.detach().grad, h.data.grad)\n",
    "asked for by name": "h = net(x)\n(g,) = torch.autograd.grad(h.sum(), h)\nprint(g, h.grad)\n",
    "set by the program": "h = net(x)\nh.sum().backward()\nh.grad = torch.ones(8, 4)\nprint(h.grad)\n",
    "not told to require grad": "net.requires_grad_(False)\nh = net(x)\nprint(h.grad)\n",
}
TOLD = {
    "moved behind the flag": (
        "a = torch.ones(8, 4, requires_grad=True).double().float()\nnet(a).sum().backward()\nprint(a.grad)\n",
        "a = torch.ones(8, 4).double().float().requires_grad_()\n",
    ),
    "moved to another kind": (
        "a = torch.ones(8, 4, requires_grad=True).to(torch.float64)\nnet.double()(a).sum().backward()\nprint(a.grad)\n",
        "a = torch.ones(8, 4).to(torch.float64).requires_grad_()\n",
    ),
    "scaled": (
        "a = torch.ones(8, 4, requires_grad=True) * 2\nnet(a).sum().backward()\nprint(a.grad)\n",
        "a.retain_grad()\n",
    ),
    "what a layer gives": ("h = net(x)\nF.mse_loss(h, y).backward()\nprint(h.grad, h.grad)\n", "h = net(x)\nh.retain_grad()\n"),
    "in a function": (
        "def look(x):\n    for _ in range(3):\n        h = net(x)\n        F.mse_loss(h.relu(), y).backward()\n        print(h.grad)\n\nlook(x)\n",
        "        h.retain_grad()\n",
    ),
    "of a tuple": ("h, c = net(x), 1\nF.mse_loss(h, y).backward()\nprint(h.grad)\n", None),
}


def told(program: str) -> list[Finding]:
    return [each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF317"]


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {})
    assert told(program) == []


@pytest.mark.parametrize(("program", "line"), TOLD.values(), ids=TOLD)
def test_a_gradient_that_nothing_keeps_is_told(program: str, line: str | None) -> None:
    with pytest.warns(UserWarning, match=".grad attribute of a Tensor that is not a leaf"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    (finding,) = told(program)
    may_be_leaf = ".to(torch.float64)" in program
    assert finding.message.endswith("may not be a leaf" if may_be_leaf else "keeps no gradient, as it is not a leaf")
    if line is None:
        assert finding.fix is None and finding.unfixed
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert line in repaired
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(repaired, "train.py", "exec"), {})

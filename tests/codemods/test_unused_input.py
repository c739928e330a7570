"""GF314: a gradient is asked for what the outputs were not computed from."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
from torch import nn
from torch.autograd import grad

net = nn.Linear(4, 4)
x = torch.randn(8, 4, requires_grad=True)
out = net(x)
"""
LEFT_ALONE = {
    "the input itself": "g = grad(out.sum(), x)[0]\n",
    "a part that the model was given": "part = x[0]\ng = grad(net(part).sum(), part)[0]\n",
    "allowed": "g = grad(out.sum(), x[0], allow_unused=True)[0]\n",
    "an output made later": "part = x[0]\nlater = net(part).sum()\ng = grad(later, part)[0]\n",
    "adapted parameters that the model uses": """
w = torch.ones(4, 4, requires_grad=True)
for _ in range(2):
    loss = (x @ w).pow(2).mean()
    (g,) = grad(loss, [w], create_graph=True)
    w = w - 0.1 * g
""",
    "by a call whose code is not in sight": """
def adapted(model, parameters):
    return torch.func.functional_call(model, parameters, (x,))
parameters = {name: p * 1.0 for name, p in net.named_parameters()}
g = grad(adapted(net, parameters).sum(), list(parameters.values()))
""",
    "made the weight of a layer": "w = net.weight * 1\ndel net.weight\nnet.weight = w\ng = grad(net(x).sum(), w)[0]\n",
    "made the weight of a layer by its name": (
        "name = 'weight'\nw = net.weight * 1\ndel net.weight\nsetattr(net, name, w)\ng = grad(net(x).sum(), w)[0]\n"
    ),
    "added by a hook": "w = x[0] * 1\nnet.register_forward_hook(lambda layer, given, out: out + w)\ng = grad(net(x).sum(), w)[0]\n",
    "written into a buffer": """
part = x * 2
rows = torch.zeros(8, 4)
rows[0] = part[0]
g = grad(rows.sum(), part)[0]
""",
    "through a function of one's own": """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value):
        return value * 2
    @staticmethod
    def backward(ctx, slope):
        return slope * 2
part = x * 1
g = grad(Double.apply(part).sum(), part)[0]
""",
    "an error that is caught": "try:\n    g = grad(out.sum(), x[0])[0]\nexcept RuntimeError:\n    g = None\n",
}
# a program, and what the repair makes of it; None where there is none
TOLD = {
    "an item": ("g = grad(out[0].sum(), x[0])[0]\n", "g = grad(out[0].sum(), x)[0][0]\n"),
    "a slice by keyword": (
        "g = grad(outputs=out.sum(), inputs=x[:, 1:], retain_graph=True)[0]\n",
        "g = grad(outputs=out.sum(), inputs=x, retain_graph=True)[0][:, 1:]\n",
    ),
    "a view": ("g = grad(out.sum(), x.view(4, 8))[0]\n", None),
    "adapted parameters that the model does not use": (
        "w = net.weight\nfor _ in range(2):\n    loss = net(x).pow(2).mean()\n    (g,) = grad(loss, [w], create_graph=True)\n    w = w - 0.1 * g\n",
        None,
    ),
    "the result is unpacked": ("(g,) = grad(out.sum(), x[0])\n", None),
}


def only(program: str) -> Finding:
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF314")
    return finding


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {})
    assert "GF314" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "text"), TOLD.values(), ids=TOLD)
def test_what_is_told(program: str, text: str | None) -> None:
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    finding = only(program)
    if text is None:
        assert finding.fix is None and finding.unfixed
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert text in repaired
    exec(compile(repaired, "train.py", "exec"), {})


UNGRADED = {
    "data": ("data = torch.randn(8, 4)\nscore = net(data).sum()\n(g,) = grad(score, data)\n", "data", "data = torch.randn(8, 4).requires_grad_()"),
    "data in a list": ("data = torch.randn(8, 4)\nscore = net(data).sum()\ng = grad(score, [data])[0]\n", "data", "torch.randn(8, 4).requires_grad_()"),
    "allowed to be unused": ("data = torch.randn(8, 4)\nscore = net(data).sum()\n(g,) = grad(score, data, allow_unused=True)\n", "data", "requires_grad_()"),
    "a copy without a graph": ("part = x.detach()\nscore = net(part).sum()\n(g,) = grad(score, part)\n", "part", "x.detach().requires_grad_()"),
    "computed under no_grad": ("with torch.no_grad():\n    h = net(x)\nscore = net(h).sum()\n(g,) = grad(score, h)\n", "h", None),
    "a frozen weight": ("net.weight.requires_grad = False\nscore = net(x).sum()\n(g,) = grad(score, net.weight)\n", "net.weight", None),
}
GRADED = {
    "told by a method": "data = torch.randn(8, 4)\ndata.requires_grad_()\n(g,) = grad(net(data).sum(), data)\n",
    "told by its flag": "data = torch.randn(8, 4)\ndata.requires_grad = True\n(g,) = grad(net(data).sum(), data)\n",
    "told in a function": "def ready(t):\n    return t.requires_grad_()\ndata = ready(torch.randn(8, 4))\n(g,) = grad(net(data).sum(), data)\n",
    "told out of sight": "from elsewhere import ready\ndata = torch.randn(8, 4)\nready(data)\n(g,) = grad(net(data).sum(), data)\n",
    "swallowed": "data = torch.randn(8, 4)\ntry:\n    (g,) = grad(net(data).sum(), data)\nexcept RuntimeError:\n    g = None\n",
    "what a container holds": "weights = {'w': net.weight * 2}\ng = grad(net(x).sum() + weights['w'].sum(), weights.values())\n",
    "where the model does": "class Own(nn.Module):\n    def forward(self, t):\n        t.requires_grad_()\n        return t.square()\n"
    "data = torch.randn(8, 4)\n(g,) = grad(Own()(data).sum(), data)\n",
}


@pytest.mark.parametrize(("program", "name", "line"), UNGRADED.values(), ids=UNGRADED)
def test_an_input_that_needs_no_gradient_is_told(program: str, name: str, line: str | None) -> None:
    with pytest.raises(RuntimeError, match="does not require grad"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF314")
    assert finding.message == f"`{name}` needs no gradient, and this asks for one"
    if line is None:
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert line in repaired
    exec(compile(repaired, "train.py", "exec"), {})


@pytest.mark.parametrize("program", GRADED.values(), ids=GRADED)
def test_an_input_that_may_need_one_is_left_alone(program: str) -> None:
    if "elsewhere" not in program:
        exec(compile(HEAD + program, "train.py", "exec"), {})
    assert [each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF314"] == []

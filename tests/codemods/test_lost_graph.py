"""GF310: backward() finds no graph, because it was cut on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.lost_graphs import lost_graphs
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.model import Applicability, Finding, Severity
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import _evidence, findings_of

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
    "trained in a context": """
import contextlib
@contextlib.contextmanager
def unfrozen(module):
    module.requires_grad_(True)
    try:
        yield module
    finally:
        module.requires_grad_(False)
net.requires_grad_(False)
for _ in range(3):
    with unfrozen(net) as trained:
        trained(x).sum().backward()
""",
    "trained before a generator goes on": """
def phases():
    yield "train"
    net.requires_grad_(False)
    yield "test"
for phase in phases():
    loss = net(x).sum()
    if phase == "train":
        loss.backward()
""",
    "a part of the loss is a constant": "loss = F.mse_loss(net(x), net(x).detach())\nloss.backward()\n",
    "only where a graph is recorded": """
for trains in (True, False):
    with torch.set_grad_enabled(trains):
        loss = F.mse_loss(net(x), y)
    if loss.requires_grad:
        loss.backward()
""",
    "a network of which nothing is known": "from models import other\nloss = F.mse_loss(other(x).data, y)\nloss.backward()\n",
    "some runs have a graph": """
def step(logs):
    out = net(x)
    if logs:
        out = out.detach()
    F.mse_loss(out, y).backward()
""",
    "no parameter ever came in": "loss = F.mse_loss(x, y)\nloss.requires_grad_()\nloss.backward()\n",
    "a part of the parameters is frozen": """
for name, p in net.named_parameters():
    if "bias" in name:
        p.requires_grad = False
F.mse_loss(net(x), y).backward()
""",
    "frozen, and thawed again": "net.requires_grad_(False)\nnet.requires_grad_(True)\nF.mse_loss(net(x), y).backward()\n",
    "frozen, and some thawed again": """
for p in net.parameters():
    p.requires_grad = False
for p in list(net.parameters())[-1:]:
    p.requires_grad = True
F.mse_loss(net(x), y).backward()
""",
    "frozen, and one of many thawed again": """
for p in net.parameters():
    p.requires_grad = False
dict(net.named_parameters())["bias"].requires_grad = True
F.mse_loss(net(x), y).backward()
""",
    "an input is trained through a frozen network": """
net.requires_grad_(False)
x.requires_grad_()
F.mse_loss(net(x), y).backward()
""",
    "a loss of frozen layers, of what unknown callers give": """
class Perceptual(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        for param in self.parameters():
            param.requires_grad = False
    def forward(self, real, fake):
        return (self.net(real) - self.net(fake)).pow(2)
class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.perceptual = Perceptual().eval()
    def forward(self, real, fake, last_layer):
        loss = (real - fake).abs() + self.perceptual(real, fake)
        return torch.autograd.grad(loss.mean(), last_layer, retain_graph=True)[0]
""",
    "recording goes on behind a block": """
def evaluate():
    with torch.set_grad_enabled(False):
        return net(x).mean().item()
evaluate()
F.mse_loss(net(x), y).backward()
""",
    "recording is switched on again": """
def evaluate():
    torch.set_grad_enabled(False)
    shown = net(x).mean().item()
    torch.set_grad_enabled(True)
    return shown
evaluate()
F.mse_loss(net(x), y).backward()
""",
    "recording is switched back to what it was": """
def evaluate():
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    shown = net(x).mean().item()
    torch.set_grad_enabled(before)
    return shown
evaluate()
F.mse_loss(net(x), y).backward()
""",
    "gradients are asked for anew": "out = net(x).detach().requires_grad_()\nF.mse_loss(out, y).backward()\n",
}
# a program, the code that cuts, and the line that the repair makes of it; None where there is none
TOLD = {
    "detached": ("out = net(x).detach()\nF.mse_loss(out, y).backward()\n", "net(x).detach()", "out = net(x)\n"),
    "data": ("out = net(x)\nF.mse_loss(out.data, y).backward()\n", "out.data", "F.mse_loss(out, y).backward()\n"),
    "a number": ("loss = F.mse_loss(net(x), y)\nloss = torch.tensor(loss.item())\nloss.backward()\n", "torch.tensor(loss.item())", "y)\nloss.backward()\n"),
    "the largest": ("out = net(x).argmax(dim=1)\nout.float().mean().backward()\n", "net(x).argmax(dim=1)", None),
    "nothing recorded": ("with torch.no_grad():\n    out = net(x)\nF.mse_loss(out, y).backward()\n", "net(x)", None),
    "all parameters are frozen": (
        "for p in net.parameters():\n    p.requires_grad = False\nF.mse_loss(net(x), y).backward()\n",
        "p.requires_grad = False",
        "    p.requires_grad = True\n",
    ),
    "the network is frozen": (
        "net.requires_grad_(False)\nF.mse_loss(net(x), y).backward()\n",
        "net.requires_grad_(False)",
        "net.requires_grad_(True)\n",
    ),
    "all are frozen, on either way": (
        "for name, p in net.named_parameters():\n    if 'bias' in name:\n        p.requires_grad = False\n    else:\n"
        "        p.requires_grad = False\nF.mse_loss(net(x), y).backward()\n",
        "p.requires_grad = False",
        "    else:\n        p.requires_grad = True\n",
    ),
    "recording was switched off": (
        "def evaluate():\n    torch.set_grad_enabled(False)\n    print(net(x).mean().item())\n\n\n"
        "evaluate()\nF.mse_loss(net(x), y).backward()\n",
        "torch.set_grad_enabled(False)",
        "    torch.set_grad_enabled(True)\n",
    ),
    "in a function": (
        "def loss_of(out):\n    return (out.detach() - y).pow(2).mean()\n\n\nfor _ in range(3):\n    loss_of(net(x)).backward()\n",
        "out.detach()",
        "    return (out - y).pow(2).mean()\n",
    ),
}


# the same, where the loss was told to require grad all the same: nothing raises, and nothing is trained
FLAGGED = {
    "numbers of a list": (
        """
opt = torch.optim.SGD(net.parameters(), 0.1)
kept = [F.mse_loss(net(x), y) for _ in range(3)]
losses = torch.tensor(kept, requires_grad=True)
loss = (2 * losses).mean()
loss.backward()
opt.step()
""",
        "torch.tensor(kept, requires...",
        "losses = torch.stack(kept)",
    ),
    "numbers of two lists": (
        """
opt = torch.optim.SGD(net.parameters(), 0.1)
kept, more = [F.mse_loss(net(x), y) for _ in range(3)], [net(x).mean() for _ in range(3)]
first = torch.tensor(kept, requires_grad=True)
second = torch.tensor(more, requires_grad=True)
loss = (2 * first - second).mean()
loss.backward()
opt.step()
""",
        "torch.tensor(kept, requires...",
        "first = torch.stack(kept)\nsecond = torch.stack(more)\n",
    ),
    "by a call that trains others, too": (
        """
other = torch.nn.Linear(4, 4)
opt, opt2 = torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(other.parameters(), 0.1)
def step(loss, opt):
    opt.zero_grad()
    loss.backward()
    opt.step()
value = F.mse_loss(net(x), y).detach().requires_grad_()
step(value * 2, opt)
step(F.mse_loss(other(x), y), opt2)
""",
        "F.mse_loss(net(x), y).detach()",
        "value = F.mse_loss(net(x), y)\n",
    ),
    "by a method": (
        """
loss = F.mse_loss(net(x).detach(), y)
loss.requires_grad_(True)
loss.backward()
""",
        "net(x).detach()",
        "F.mse_loss(net(x), y)\nloss.b",
    ),
    "by an attribute": (
        """
loss = F.mse_loss(net(x).data, y)
loss.requires_grad = True
loss.backward()
""",
        "net(x).data",
        "F.mse_loss(net(x), y)\nloss.b",
    ),
    "in the same expression": (
        """
F.mse_loss(net(x).data, y).requires_grad_().backward()
""",
        "net(x).data",
        "F.mse_loss(net(x), y).backward()",
    ),
    "by a variable": (
        """
loss = torch.autograd.Variable(F.mse_loss(net(x), y), requires_grad=True)
loss.backward()
""",
        "torch.autograd.Variable(F.m...",
        "loss = F.mse_loss(net(x), y)\nloss.b",
    ),
    "by a variable of its own data": (
        """
from torch.autograd import Variable
loss = F.mse_loss(net(x), y)
loss = Variable(loss.data, requires_grad=True)
loss.backward()
""",
        "loss.data",
        "loss = F.mse_loss(net(x), y)\nloss.b",
    ),
    "made anew": (
        """
loss = F.mse_loss(net(x), y)
loss = torch.tensor(loss.item(), requires_grad=True)
loss.backward()
""",
        "torch.tensor(loss.item(), r...",
        "y)\nloss.b",
    ),
    "of the best class": (
        """
loss = (net(x).argmax(1).float() - y[:, 0]).abs().mean()
loss.requires_grad_()
loss.backward()
""",
        "net(x).argmax(1)",
        None,
    ),
    "of what nothing was recorded for": (
        """
with torch.no_grad():
    out = net(x)
loss = F.mse_loss(out, y)
loss.requires_grad = True
loss.backward()
""",
        "net(x)",
        None,
    ),
    "of a rounded score": (
        """
score = torch.round(net(x).detach()).sum()
score.requires_grad_(True)
score.backward()
""",
        "net(x).detach()",
        "torch.round(net(x)).sum()\nscore.b",
    ),
    "in a training step": (
        """
def step(model, x, y):
    loss = F.mse_loss(model(x).detach(), y)
    loss.requires_grad_(True)
    opt.zero_grad()
    loss.backward()
    opt.step()
for _ in range(3):
    step(net, x, y)
""",
        "model(x).detach()",
        "    loss = F.mse_loss(model(x), y)\n    opt.zero_grad()",
    ),
}


STEP = "opt.zero_grad()\nloss.backward()\nopt.step()\n"
# a term of the loss that adds to its value alone; what cuts it, and the line that the repair makes of it
TERMS = {
    "features that were detached": (
        "h = net(x).detach()\nspread = (h - h.mean(0)).pow(2).mean()\nloss = F.mse_loss(net(x), y) + 0.1 * spread\n",
        "net(x).detach()",
        "h = net(x)\n",
    ),
    "a penalty on data": (
        "size = net.weight.data.abs().sum()\nloss = F.mse_loss(net(x), y)\nloss = loss + 0.01 * size\n",
        "net.weight.data",
        "size = net.weight.abs().sum()\n",
    ),
    "added in place": (
        "with torch.no_grad():\n    out = net(x + 0.1)\nsmooth = out.pow(2).mean()\nloss = F.mse_loss(net(x), y)\nloss += smooth\n",
        "net(x + 0.1)",
        None,
    ),
    "numbers of a list that is told to require grad": (
        "more = [net(x).mean() for _ in range(3)]\nextra = torch.tensor(more, requires_grad=True)\nloss = F.mse_loss(net(x), y) + extra.sum()\n",
        "torch.tensor(more, requires...",
        "extra = torch.stack(more)\n",
    ),
    "a number": (
        "loss_a = F.mse_loss(net(x), y)\nloss_b = torch.tensor(net(x).abs().mean().item())\nloss = loss_a + loss_b\n",
        "torch.tensor(net(x).abs().m...",
        "loss_b = net(x).abs().mean()\n",
    ),
    "a penalty on the data of each parameter": (
        "size = 0\nfor p in net.parameters():\n    size = size + p.data.pow(2).sum()\nloss = F.mse_loss(net(x), y) + 0.01 * size\n",
        "p.data",
        "size = size + p.pow(2).sum()\n",
    ),
    "the sum over the data of all": (
        "size = sum(p.data.abs().sum() for p in net.parameters())\nloss = F.mse_loss(net(x), y)\nloss += 0.001 * size\n",
        "p.data",
        "size = sum(p.abs().sum() for p in net.parameters())\n",
    ),
    "the first of three": (
        "one = net(x).data.mean()\nloss = one + net(x).pow(2).mean() + F.mse_loss(net(x), y)\n",
        "net(x).data",
        "one = net(x).mean()\n",
    ),
}
WHOLE = {
    "cut in the sum itself": "loss = F.mse_loss(net(x), y)\nloss = loss + (1.0 - loss).detach()\n",
    "a baseline that is subtracted": "base = net(x).mean().detach()\nloss = F.mse_loss(net(x), y) - base\n",
    "a weight": "size = net(x).detach().abs().mean()\nloss = size * F.mse_loss(net(x), y)\n",
    "a constant": "noise = torch.randn(4).abs().mean()\nloss = F.mse_loss(net(x), y) + noise\n",
    "only for a while": (
        "import sys\nh = net(x)\nif len(sys.argv) > 5:\n    h = h.detach()\nextra = h.abs().mean()\nloss = F.mse_loss(net(x), y) + extra\n"
    ),
    "a penalty that has a graph": "size = sum(p.abs().sum() for p in net.parameters())\nloss = F.mse_loss(net(x), y) + 0.1 * size\n",
    "asked for by name": (
        "fake = torch.tensor([net(x).mean(), net(y).mean()], requires_grad=True)\nout = fake.pow(2).sum()\n"
        "slope = torch.autograd.grad(out, fake, create_graph=True)[0]\nloss = F.mse_loss(net(x), y) + out + slope.norm()\n"
    ),
    "of what is not trained": "other = nn.Linear(4, 4)\nh = other(x).detach()\nextra = h.abs().mean()\nloss = F.mse_loss(net(x), y) + extra\n",
}


def only(program: str) -> Finding:
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF310")
    return finding


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert "GF310" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "cut", "line"), TOLD.values(), ids=TOLD)
def test_what_is_told(program: str, cut: str, line: str | None) -> None:
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    finding = only(program)
    assert f"`{cut}` leaves `" in finding.message and finding.message.endswith("without a graph")
    if line is None:
        assert finding.fix is None and finding.unfixed
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert line in repaired
    exec(compile(repaired, "train.py", "exec"), {})


@pytest.mark.parametrize(("program", "cut", "line"), FLAGGED.values(), ids=FLAGGED)
def test_a_loss_that_was_told_to_require_grad_is_told(program: str, cut: str, line: str | None) -> None:
    before: dict = {}
    exec(compile(HEAD + program, "train.py", "exec"), before)
    assert before["net"].weight.grad is None
    finding = only(program)
    assert f"`{cut}` leaves `" in finding.message and "trains nothing" in finding.story[-1].message
    assert {each.code for each in findings_of(Path("train.py"), HEAD + program)} <= {"GF310", "GF902", "GF903"}
    if line is None:
        assert finding.fix is None and finding.unfixed
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert line in repaired
    after: dict = {}
    exec(compile(repaired, "train.py", "exec"), after)
    assert after["net"].weight.grad is not None


@pytest.mark.parametrize(
    "program",
    [
        "out = net(x).detach().requires_grad_()\nF.mse_loss(out, y).backward()\nnet(x).backward(out.grad)\n",  # a graph in two parts
        "start = torch.zeros(3, requires_grad=True)\nstart.sum().backward()\n",
        "loss = torch.zeros(1, requires_grad=True)\nif x.sum() > 1e9:\n    loss = net(x).mean()\nloss.backward()\n",
        "image = net(x).detach()\nimage.requires_grad = True\nfor _ in range(3):\n    net(image).mean().backward()\n    image.data -= image.grad\n",
        "image = torch.autograd.Variable(net(x).data, requires_grad=True)\nopt = torch.optim.SGD([image], 0.1)\nimage.pow(2).sum().backward()\nopt.step()\n",
        "image = net(x).detach().requires_grad_()\nimage.pow(2).sum().backward()\nx = x + image.grad.mean()\nopt.step()\n",
        "weight = torch.nn.Parameter(net.weight.detach().mean())\nweight.backward()\n",
    ],
)
def test_a_leaf_of_its_own_is_no_lost_graph(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {})
    assert "GF310" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "cut", "line"), TERMS.values(), ids=TERMS)
def test_a_term_without_a_graph_is_told(program: str, cut: str, line: str | None) -> None:
    exec(compile(HEAD + program + STEP, "train.py", "exec"), {})
    finding = only(program + STEP)
    assert finding.message == f"`{cut}` leaves a term of the loss without a graph" and finding.severity is Severity.WARNING
    if line is None:
        assert finding.fix is None and finding.by_hand.endswith("or leave the term out")
        return
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
    repaired = apply_fixes(HEAD + program + STEP, [finding.fix]).text
    assert line in repaired
    exec(compile(repaired, "train.py", "exec"), {})


@pytest.mark.parametrize("program", WHOLE.values(), ids=WHOLE)
def test_terms_that_are_meant_so_are_left_alone(program: str) -> None:
    exec(compile(HEAD + program + STEP, "train.py", "exec"), {})
    assert "GF310" not in {each.code for each in findings_of(Path("train.py"), HEAD + program + STEP)}


def test_runs_that_were_cut_short_say_nothing() -> None:
    evidence = _evidence(Path("train.py"), HEAD + TOLD["detached"][0], (), NO_CONVENTIONS, {})
    assert len(list(lost_graphs(evidence))) == 1
    evidence.tape.truncated = True
    assert not list(lost_graphs(evidence))


def test_a_repair_after_which_nothing_is_trained_is_not_offered() -> None:
    """What is behind the first cut is cut again."""
    finding = only("out = net(x).detach()\nwith torch.no_grad():\n    loss = F.mse_loss(out, y)\nloss.backward()\n")
    assert finding.fix is None


def test_an_evaluation_that_the_cut_makes_of_it_is_not_told() -> None:
    """no_grad around what is to be trained would hide what is wrong."""
    program = "def loss_of():\n    return torch.tensor(F.mse_loss(net(x), y).item())\n\n\nloss_of().backward()\n"
    assert {each.code for each in findings_of(Path("train.py"), HEAD + program) if not each.yields_to} == {"GF310"}


def test_code_that_is_not_in_sight_may_thaw_what_it_is_given() -> None:
    frozen = "for p in net.parameters():\n    p.requires_grad = False\n{thaw}F.mse_loss(net(x), y).backward()\n"
    assert "GF310" in {each.code for each in findings_of(Path("train.py"), HEAD + frozen.format(thaw=""))}
    program = "from elsewhere import thaw\n" + HEAD + frozen.format(thaw="thaw(net)\n")
    assert "GF310" not in {each.code for each in findings_of(Path("train.py"), program)}


def test_a_list_that_keeps_graphs_besides_is_told_too() -> None:
    program = "kept = []\nfor _ in range(40):\n    out = net(x)\n    kept.append(out)\n    spread = out.detach().abs().mean()\n"
    program += "    loss = F.mse_loss(net(x), y) + spread\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    assert {"GF102", "GF310"} <= {each.code for each in findings_of(Path("train.py"), HEAD + program)}

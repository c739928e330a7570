"""GF311: deepcopy meets a tensor that has a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import copy
import torch
import torch.nn.functional as F
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.last = None
    def forward(self, x):
        out = self.linear(x)
        self.last = out
        return out

net = Layer()
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 4), torch.randn(8, 4)
loss = F.mse_loss(net(x), y)
loss.backward()
opt.step()
"""
LEFT_ALONE = {
    "parameters": "best = copy.deepcopy(net.linear)\n",
    "a state dict": "best = copy.deepcopy(net.state_dict())\n",
    "a shallow copy": "best = copy.copy(net)\n",
    "nothing is recorded": "with torch.no_grad():\n    net(x)\nbest = copy.deepcopy(net)\n",
    "what was kept is let go": "net.last = None\nbest = copy.deepcopy(net)\n",
    "what was kept is detached": "net.last = net.last.detach()\nbest = copy.deepcopy(net)\n",
    "numbers": "best = copy.deepcopy([loss.item()])\n",
    "an error that is caught": "try:\n    best = copy.deepcopy(net)\nexcept RuntimeError:\n    best = None\n",
}
# a program, what it names, and the line that the repair makes; whether that is safe
TOLD = {
    "a module": ("best = copy.deepcopy(net)\nprint(best)\n", "self.last", "        self.last = out.detach()\n", True),
    "a module in a list": ("best = copy.deepcopy([net])\nprint(best)\n", "self.last", "        self.last = out.detach()\n", True),
    "a loss": ("kept = copy.deepcopy(loss)\n", "loss", "kept = copy.deepcopy(loss.detach())\n", False),
    "a list of losses": (
        "losses = []\nfor _ in range(3):\n    loss = F.mse_loss(net(x), y)\n    losses.append(loss)\nnet.last = None\nkept = copy.deepcopy(losses)\n",
        "losses",
        "    losses.append(loss.detach())\n",
        True,
    ),
    "a dict by a key that is not known": (
        "class Hooked(Layer):\n    def __init__(self):\n        super().__init__()\n        self.caught = {}\n    def forward(self, x):\n"
        "        self.caught[x.device] = self.linear(x)\n        return self.caught[x.device]\n"
        "net = Hooked()\nnet(x).mean().backward()\nbest = copy.deepcopy(net)\n",
        "self.caught[x.device]",
        "net.caught.clear()\nbest = copy.deepcopy(net)\n",
        False,
    ),
    "what a backward pass needs": (
        "net(x)\nloss = net.last.mean()\nloss.backward()\nbest = copy.deepcopy(net)\n",
        "self.last",
        "net.last = net.last.detach()\nbest = copy.deepcopy(net)\n",
        False,
    ),
}  # fmt: skip


def only(program: str) -> Finding:
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF311")
    return finding


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {"__name__": "train"})
    assert "GF311" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "named", "line", "is_safe"), TOLD.values(), ids=TOLD)
def test_what_is_told(program: str, named: str, line: str, is_safe: bool) -> None:
    with pytest.raises(RuntimeError, match="support the deepcopy protocol"):
        exec(compile(HEAD + program, "train.py", "exec"), {"__name__": "train"})
    finding = only(program)
    assert f"`{named}`" in finding.message
    assert finding.fix is not None
    assert finding.fix.applicability is (Applicability.SAFE if is_safe else Applicability.UNSAFE)
    repaired = apply_fixes(HEAD + program, [finding.fix]).text
    assert line in repaired
    exec(compile(repaired, "train.py", "exec"), {"__name__": "train"})


def test_each_place_is_cut_in_its_own_way() -> None:
    """Of two attributes a backward pass needs one: that one is detached before the copy, the other where it is stored."""
    program = HEAD.replace("        return out\n", "        self.penalty = out.abs().mean()\n        return out\n").replace(
        "loss = F.mse_loss(net(x), y)", "loss = F.mse_loss(net(x), y) + net.penalty"
    )
    program += "best = copy.deepcopy(net)\n"
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF311")
    assert finding.message.startswith("`self.last`, `self.penalty` keep graphs")
    assert finding.fix is not None
    assert finding.fix.title == "detach `self.last` where it is stored and `net.penalty` before the copy"
    repaired = apply_fixes(program, [finding.fix]).text
    exec(compile(repaired, "train.py", "exec"), {"__name__": "train"})


def test_a_class_that_copies_its_objects_itself() -> None:
    method = "    def __deepcopy__(self, memo):\n        return Layer()\n\nnet = Layer()"
    program = HEAD.replace("\nnet = Layer()", method) + "best = copy.deepcopy(net)\n"
    exec(compile(program, "train.py", "exec"), {"__name__": "train"})
    assert "GF311" not in {each.code for each in findings_of(Path("train.py"), program)}


def test_the_layer_lies_in_another_file(tmp_path: Path) -> None:
    from graphfix.run.examine import Job, examine

    head, _, training = HEAD.partition("net = Layer()")
    (tmp_path / "layers.py").write_text(head)
    script = "import copy\nfrom layers import *\n\nnet = Layer()" + training + "best = copy.deepcopy(net)\n"
    (tmp_path / "train.py").write_text(script)
    found = [each for name in ("layers.py", "train.py") for each in examine(tmp_path / name, Job((tmp_path,))).findings]
    assert {each.code for each in found} == {"GF311"}
    assert {Path(label.path).name for label in found[0].story} == {"layers.py", "train.py"}


CALLED = """\
import copy
import torch
from torch import nn

def predictions(xs):
    net = nn.Linear(4, 4)
    outs = [net(x) for x in xs]
    {backward}
    return copy.deepcopy(outs)

def train(net, xs):
    net(xs).mean().backward()
"""


def test_whoever_calls_a_function_may_record_nothing() -> None:
    """A function that goes backward itself records."""
    program = CALLED.format(backward="pass")
    exec(compile(program + "with torch.no_grad():\n    predictions(torch.ones(2, 3, 4))\n", "train.py", "exec"), {})
    assert "GF311" not in {each.code for each in findings_of(Path("train.py"), program)}
    program = CALLED.format(backward="sum(outs).mean().backward()")
    assert "GF311" in {each.code for each in findings_of(Path("train.py"), program)}

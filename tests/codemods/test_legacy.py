"""What the legacy rules find and leave alone, one toy program each: (program, what the selected run makes of it)."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

HEAD = """\
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable
net = nn.Linear(3, 3)
x = torch.randn(4, 3)
loss = F.mse_loss(net(x), x)
"""
USES = "isinstance(x, Variable)\n"  # keeps the import


def repaired(tmp_path: Path, body: str, unsafe: bool = False, select: tuple[str, ...] = ("GF9",)) -> str:
    path = tmp_path / "toy.py"
    path.write_text(HEAD + body + USES)
    outcome = examine(path, Job((tmp_path,), Wanted(select, unsafe=unsafe), repair=True))
    assert outcome.reason == ""
    assert not outcome.broken
    text = outcome.after.decode()
    assert text.startswith(HEAD)
    return text.removeprefix(HEAD).removesuffix(USES)


SAFE = {
    "a number": ("v = float(loss)\n", "v = loss.item()\n"),
    "a sum of two": ("v = float(loss + loss)\n", "v = (loss + loss).item()\n"),
    "an int": ("v = int(loss)\n", "v = int(loss.item())\n"),
    "a power": ("v = math.pow(loss, 2)\n", "v = math.pow(loss.item(), 2)\n"),
    "a leaf that requires grad": ("w = torch.tensor(1.0, requires_grad=True)\nv = float(w)\n",
                                  "w = torch.tensor(1.0, requires_grad=True)\nv = w.item()\n"),
    "an output": ("v = net(x).data.max(1)[1]\n", "v = net(x).detach().max(1)[1]\n"),
    "fresh noise": ("v = Variable(torch.randn(3))\n", "v = torch.randn(3)\n"),
    "a sum": ("v = Variable(x + 1).sum()\n", "v = (x + 1).sum()\n"),
    "a rebound name": ("x = Variable(x)\n", ""),
    "a cut": ("v = Variable(net(x))\n", "v = net(x).detach()\n"),
    "a fresh leaf": ("v = Variable(torch.randn(3), requires_grad=True)\n", "v = torch.randn(3).requires_grad_()\n"),
    "a leaf of something": ("v = Variable(x, requires_grad=True)\n", "v = x.detach().requires_grad_()\n"),
    "no flag": ("v = Variable(torch.randn(3), requires_grad=False, volatile=False)\n", "v = torch.randn(3)\n"),
    "a conditional": ("v = Variable(x if x.sum() > 0 else x + 1).cpu()\n", "v = (x if x.sum() > 0 else x + 1).cpu()\n"),
    "several lines": ("v = Variable(torch.randn(3) +\n             torch.ones(3))\n",
                      "v = (torch.randn(3) +\n             torch.ones(3))\n"),
    "a gradient of one element": ("loss.backward(torch.ones(1))\n", "loss.backward(torch.ones(1).squeeze())\n"),
    "a gradient by name": ("loss.backward(gradient=torch.Tensor([2.0]))\n",
                           "loss.backward(gradient=torch.Tensor([2.0]).squeeze())\n"),
    "retain_variables for a second walk": ("loss.backward(retain_variables=True)\nloss.backward()\n",
                                           "loss.backward(retain_graph=True)\nloss.backward()\n"),
    "one statement, two regions": ("a, b = Variable(x, volatile=True), Variable(x)\ny = net(a)\n",
                                   "a, b = x, x\nwith torch.no_grad():\n    y = net(a)\n"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), SAFE.values(), ids=SAFE)
def test_what_is_repaired(tmp_path: Path, before: str, after: str) -> None:
    assert repaired(tmp_path, before) == after


SILENT = {
    "detached": "v = float(loss.detach())\n",
    "under no_grad": "with torch.no_grad():\n    v = float(loss)\n",
    "maybe a number": "total = 0\nfor i in range(5):\n    v = float(total)\n    total = total + F.mse_loss(net(x), x).item()\n",
    "no graph to cut": "v = x.data.max()\n",
    "a number of data": "v = loss.data.item()\n",
    "data written in place": "v = net(x).data\nv += 1\n",
    "a view of data written in place": "v = net(x).data\nv[0].zero_()\n",
    "data written by out": "v = net(x).data\ntorch.add(x, x, out=v)\n",
    "data of a parameter initialised": "nn.init.zeros_(net.weight.data)\n",
    "an array": "import numpy as np\ntry:\n    v = Variable(np.ones(3))\nexcept TypeError:\n    pass\n",
    "a flag that is not known": "import sys\nv = Variable(x, requires_grad=len(sys.argv) > 1)\n",
    "flags that are not in sight": "def f(t, **flags):\n    return Variable(t, **flags).sum().item()\nf(x)\n",
    "a gradient that matches": "loss.view(1).backward(torch.ones(1))\n",
    "a gradient of no dimension": "loss.backward(torch.tensor(1.0))\n",
    "a packed sequence": "p = nn.utils.rnn.pack_sequence([net(x)])\nv = p.data\n",
    "the output for a packed sequence": "r = nn.GRU(3, 3)\no, h = r(nn.utils.rnn.pack_sequence([x]))\nprint(o.data)\n",
    "a vector": "v = net(x).sum(1).detach()[0]\n",
    "a larger of two": "v = torch.max(net(x), x).detach()[0]\n",
    "one element of one": "v = loss.detach().view(1)[0]\n",
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_what_is_left_alone(tmp_path: Path, body: str) -> None:
    assert repaired(tmp_path, body, unsafe=True) == body


UNSAFE = {
    "handed to code that is not in sight": "import other\nother.keep(net(x).data)\n",
    "a parameter": "v = net.weight.data.norm(2, 1)\n",
    "volatile in code that is not in sight": "import other\nv = Variable(x, volatile=True)\ny = other.model(v)\nother.keep(y)\n",
    "a tensor of another file": "def f(t):\n    return Variable(t).sum().item()\n",
}


@pytest.mark.parametrize("body", UNSAFE.values(), ids=UNSAFE)
def test_what_has_to_be_asked_for(tmp_path: Path, body: str) -> None:
    assert repaired(tmp_path, body) == body
    assert repaired(tmp_path, body, unsafe=True) != body


@pytest.mark.parametrize("guard", ("", 'if __name__ == "__main__":\n    print(loss.item())\n'), ids=("module", "script"))
def test_an_import_goes_when_its_last_use_has_gone(tmp_path: Path, guard: str) -> None:
    path = tmp_path / "toy.py"
    path.write_text(HEAD.replace("import Variable", "import Function, Variable") + "v = Variable(torch.randn(3))\n" + guard)
    outcome = examine(path, Job((tmp_path,), Wanted(("GF903",)), repair=True))
    kept = "from torch.autograd import Function, Variable\n" if not guard else "from torch.autograd import Function\n"
    assert outcome.after.decode() == HEAD.replace("from torch.autograd import Variable\n", kept) + "v = torch.randn(3)\n" + guard
    assert len(outcome.findings) == (0 if guard else 1)


def test_a_helper_is_judged_by_its_callers(tmp_path: Path) -> None:
    helper = "def to_np(t):\n    return t.data.cpu().numpy()[0]\nprint(to_np(loss))\n"
    assert "return t.item()\n" in repaired(tmp_path, helper, select=("GF901",))
    both = helper + "print(to_np(net.bias))\n"
    assert repaired(tmp_path, both, unsafe=True, select=("GF901",)) == both

"""GF312: backward() is called on a loss for each sample."""

from __future__ import annotations

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
per = nn.MSELoss(reduction="none")
x, y = torch.randn(8, 4), torch.randn(8, 4)
"""
LEFT_ALONE = {
    "reduced later": "loss = per(net(x), y)\nloss = loss.mean()\nloss.backward()\n",
    "reduced along the only dimension that may be left": "per(net(x), y).mean(1).mean(0).backward()\n",
    "a gradient is given": "loss = per(net(x), y)\nloss.backward(torch.ones_like(loss))\n",
    "a sum of them": "sum(each for each in per(net(x), y).flatten()).backward()\n",
    "one of them": "per(net(x), y)[0, 0].backward()\n",
    "a product of two vectors": "loss = per(net(x), y).flatten()\n(loss @ torch.ones(32)).backward()\n",
    "the loss of one number": "F.mse_loss(net(x).mean(), torch.zeros(()), reduction='none').backward()\n",
    "the loss of one number, by a layer": "per(net(x).sum(), torch.zeros(())).backward()\n",
    "an error that is caught": "try:\n    per(net(x), y).backward()\nexcept RuntimeError:\n    per(net(x), y).sum().backward()\n",
    "reduced on one way, where the other is not taken": """
def step(reduction):
    loss = F.mse_loss(net(x), y, reduction=reduction)
    loss.backward()
step("mean")
""",
}
# a program and the lines that the two repairs make of one of its lines
TOLD = {
    "a criterion": ("loss = per(net(x), y)\nloss.backward()\n", "loss = per(net(x), y).{}()\n"),
    "no name": ("F.l1_loss(net(x), y, reduction='none').backward()\n", "reduction='none').{}().backward()\n"),
    "weighted": ("loss = per(net(x), y) * 2 + 1\nloss.backward()\n", "loss = (per(net(x), y) * 2 + 1).{}()\n"),
    "reduced along one of two dimensions": ("loss = per(net(x), y).sum(1)\nloss.backward()\n", "loss = per(net(x), y).sum(1).{}()\n"),
    "negative": ("loss = -per(net(x), y)\nloss.backward()\n", "loss = (-per(net(x), y)).{}()\n"),
    "in a function": (
        "def loss_of(out):\n    return per(out, y).squeeze()\n\n\nfor _ in range(2):\n    loss = loss_of(net(x))\n    loss.backward()\n",
        "    loss = loss_of(net(x)).{}()\n",
    ),
}


def only(program: str) -> Finding:
    (finding,) = (each for each in findings_of(Path("train.py"), HEAD + program) if each.code == "GF312")
    return finding


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    exec(compile(HEAD + program, "train.py", "exec"), {})
    assert "GF312" not in {each.code for each in findings_of(Path("train.py"), HEAD + program)}


@pytest.mark.parametrize(("program", "line"), TOLD.values(), ids=TOLD)
def test_what_is_told_and_both_repairs(program: str, line: str) -> None:
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        exec(compile(HEAD + program, "train.py", "exec"), {})
    finding = only(program)
    for fix, word in ((finding.fix, "mean"), (finding.another, "sum")):
        assert fix is not None and fix.applicability is Applicability.UNSAFE
        repaired = apply_fixes(HEAD + program, [fix]).text
        assert line.format(word) in repaired
        exec(compile(repaired, "train.py", "exec"), {})

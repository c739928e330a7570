"""Operations that a program defines (`torch.autograd.Function`): `apply` runs code in sight, and is no code out of sight."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import analyse

PROGRAM = """
import torch
from torch import nn
from torch.autograd import Function
import thirdparty
KEPT = []
{operation}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.w = nn.Parameter(torch.ones(3))
    def forward(self, x):
        return {call}
net = Net()
if torch.cuda.is_available():
    net.cuda()
net.apply(lambda layer: None)
opt = torch.optim.SGD(net.parameters(), 0.1)
data = [torch.randn(4, 3) for _ in range(3)]
def evaluate():
    net.eval()
    total = 0
    for x in data:
        total += net(x).mean().item()
    return total
for epoch in range(3):
    for x in data:
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(evaluate())
{after}
"""
SCALE = """
class Scale(Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, (g * x).sum(0)
"""
RELU = """
class Relu(Function):
    @staticmethod
    def forward(x):
        return x.clamp(min=0)
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * (x > 0)
"""
PLAIN = """
class Op(Function):
    @staticmethod
    def forward(ctx, x):
        {}
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
"""
HARMLESS = {
    "called by its class": (SCALE, "Scale.apply(self.fc(x), self.w)"),
    "with a context that is set up afterwards": (RELU, "Relu.apply(self.fc(x))"),
    "under a name of its own": (f"{SCALE}\nscale = Scale.apply\n", "scale(self.fc(x), self.w)"),
    "out of a table": (f"{RELU}\nACTS = {{'relu': Relu.apply}}\n", "ACTS['relu'](self.fc(x))"),
    "of a class that derives from it": (f"{SCALE}\nclass Own(Scale):\n    pass\n", "Own.apply(self.fc(x), self.w)"),
}
DOUBTFUL = {
    "it walks what it is given": ("g, = torch.autograd.grad(x.sum(), x)", "", "calls backward() inside"),
    "it asks for the flag": ("assert x.requires_grad", "", "checks whether gradients are recorded"),
    "it hands on to code out of sight": ("thirdparty.fused(x)", "", "`thirdparty.fused` is defined outside"),
    "what it keeps goes backward": ("KEPT.append(x)", "sum(k.sum() for k in KEPT).backward()", "may go through this graph"),
    "the flag of what it keeps is read": ("KEPT.append(x)", "print(KEPT[0].requires_grad)", "depends on whether it has a graph"),
}


def evaluation(operation: str, call: str, after: str = "") -> tuple[Applicability, list[str]]:
    """The applicability of the fix of the one evaluation, and what stands in its way."""
    program = PROGRAM.format(operation=operation, call=call, after=after)
    (found,) = (each for each in analyse(Path("page.py"), program).findings if each.code == "GF103")
    assert found.fix is not None
    return found.fix.applicability, [each.message for each in found.story if each.message.startswith("not proven safe")]


@pytest.mark.parametrize(("operation", "call"), HARMLESS.values(), ids=HARMLESS)
def test_its_forward_pass_is_followed(operation: str, call: str) -> None:
    assert evaluation(operation, call) == (Applicability.SAFE, [])


@pytest.mark.parametrize(("statement", "after", "why"), DOUBTFUL.values(), ids=DOUBTFUL)
def test_a_doubt_is_about_what_the_forward_pass_does(statement: str, after: str, why: str) -> None:
    applicability, doubts = evaluation(PLAIN.format(statement), "Op.apply(self.fc(x))", after)
    assert applicability is Applicability.UNSAFE
    assert [each for each in doubts if why in each] and not [each for each in doubts if ".apply" in each]


def test_an_operation_out_of_sight_stays_doubtful() -> None:
    applicability, doubts = evaluation("from thirdparty import Fused\n", "Fused.apply(self.fc(x))")
    assert applicability is Applicability.UNSAFE
    assert [each for each in doubts if "Fused.apply" in each]

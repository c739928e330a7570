"""What a call may mean only because nothing is known of it makes a fix unsafe, and takes no finding away."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

METER = """\
import torch
import torch.nn.functional as F
from torch import nn


class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, val):
        self.sum += val

    def avg(self):
        return float(self.sum)


"""
MEMBER = """\
class Net(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = getattr(torch.nn, kind)(4, 4)

    def forward(self, x):
        return self.layer(x)


net = Net("Linear")
opt = torch.optim.SGD(net.parameters(), 0.1)
meter = Meter()
for x, y in data:
    loss = F.mse_loss(net(x), y)
    meter.update(loss)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(meter.avg())
"""
NAMED = """\
import elsewhere


def settings(path):
    options = elsewhere.read(path)
    options.update({"lr": 0.1})
    return options, options.name


net = nn.Linear(4, 4)
options, name = settings("train.json")
opt = torch.optim.SGD(net.parameters(), options.lr)
meter = Meter()
for x, y in data:
    loss = F.mse_loss(net(x), y) * getattr(options, name)
    meter.update(loss)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(meter.avg())
"""
READ = """\
import elsewhere

net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), 0.1)
params = elsewhere.params()
kinds = {"plain": F.mse_loss, "smooth": F.smooth_l1_loss}
chosen = kinds[params.update]
meter = Meter()
for x, y in data:
    loss = chosen(net(x), y) + getattr(params, params.name)
    meter.update(loss)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(meter.avg())
"""
WALKED = """\
class Sums:
    def __init__(self):
        self.sum = 0

    def update(self, val):
        self.sum += val

    def finish(self):
        self.sum.backward()
        self.sum = 0


net = nn.Linear(4, 4)
sums = Sums()
for x, y in data:
    sums.update(F.mse_loss(net(x), y))
sums.finish()
"""


@pytest.mark.parametrize("program", [MEMBER, NAMED, READ], ids=["a member of a library", "a method of a mapping", "an attribute that is called so"])
def test_a_total_is_told_whatever_else_is_called_so(program: str) -> None:
    (finding,) = findings_of(Path("train.py"), METER + program)
    assert finding.code == "GF101" and finding.fix is not None
    if program is MEMBER:
        assert finding.fix.applicability is Applicability.SAFE


def test_a_total_that_is_walked_is_none() -> None:
    assert findings_of(Path("train.py"), METER.replace("self.sum += val\n\n    def avg", "return val\n\n    def avg") + WALKED) == []

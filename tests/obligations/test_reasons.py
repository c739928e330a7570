"""Why a fix is not proven safe: each reason once, and of one place one reason."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.engine import analyse

PROGRAM = """
import torch
from torch import nn
import thirdparty
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
    def forward(self, x):
        h = self.fc(x)
        return {computed}
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
data = [torch.randn(4, 3) for _ in range(3)]
for epoch in range(3):
    for x in data:
        loss = net(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    seen, out = [], data[0]
    for x in data:
        out = net({given})
        seen.append(out.sum().item())
    print(len(seen))
"""


def doubts(computed: str, given: str = "x") -> list[tuple[int, str]]:
    program = PROGRAM.format(computed=computed, given=given)
    (found,) = (each for each in analyse(Path("page.py"), program).findings if each.code == "GF103")
    return [(each.span.start, each.message) for each in found.story if each.message.startswith("not proven safe")]


def test_that_digits_may_differ_is_told_once() -> None:
    assert len(doubts("torch.matmul(torch.matmul(h, h.t()), h)")) == 1
    assert len(doubts("torch.matmul(h, h.t()) @ h")) == 1


def test_of_one_place_one_reason_is_told() -> None:
    places = [place for place, _ in doubts("thirdparty.mixed(h)", "out")]
    assert places and len(places) == len(set(places))

"""Places that keep one value with its graph: what was put away on purpose is told, a name that is left over is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

FIT = """\
import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [torch.randn(4, 3) for _ in range(6)]

def fit(x):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
    return loss / 2

best = float("inf")
for step, x in enumerate(data):
"""
PUT_AWAY = "    loss = fit(x)\n    if loss < best:\n        best = loss\nprint(best)\n"
LEFT_OVER = "    if step % 2 == 0:\n        best = fit(x)\n    print(step, best)\n"
NUMBER = "    loss = fit(x).item()\n    if loss < best:\n        best = loss\nprint(best)\n"


@pytest.mark.parametrize(("body", "expected"), [(PUT_AWAY, ["GF102"]), (LEFT_OVER, []), (NUMBER, [])])
def test_the_best_loss_so_far(body: str, expected: list[str]) -> None:
    assert [finding.code for finding in findings_of(Path("best.py"), FIT + body)] == expected

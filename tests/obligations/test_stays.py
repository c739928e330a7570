"""Code that nobody in sight calls may run without recording where nothing of what it records leaves it."""

from __future__ import annotations

import pytest

from tests.obligations.programs import found

AGENT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    def forward(self, x):
        return self.a(x)

    @classmethod
    def train_model(cls, net, optimizer, x, y):
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def get_action(self, x):
        q = self.forward(x)
        {end}

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 4, 3):
    Net.train_model(net, optimizer, x, torch.zeros(4, 2))
"""


def safe(end: str) -> list[str]:
    findings = found(AGENT.format(end=end))
    return [each.fix.applicability.value for each in findings if each.fix is not None and "get_action" in each.message]


def test_only_an_index_leaves_the_function() -> None:
    assert safe("_, action = torch.max(q, 1)\n        return action.numpy()[0]") == ["safe"]


@pytest.mark.parametrize(
    "end",
    [
        "_, action = torch.max(q, 1)\n        self.last = q\n        return action.numpy()[0]",
        "for _ in x:  # a generator of the caller's may go backward\n            pass\n        return torch.max(q, 1)[1].numpy()[0]",
        "notes = []\n        notes.append(q)\n        return torch.max(q, 1)[1].numpy()[0]",
    ],
    ids=["kept in an attribute", "items of the caller's", "kept in a container"],
)
def test_what_a_caller_may_get_or_run(end: str) -> None:
    assert safe(end) == ["unsafe"]

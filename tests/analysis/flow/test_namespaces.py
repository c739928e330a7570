"""The attributes of an object as a mapping: what is only looked through is no way from each attribute to all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

METER = """
import torch
from torch import nn

class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.sum = self.count = self.avg = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        {text}

model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = AverageMeter("Loss", ":.4e")
for x, y in zip(torch.randn(10, 8, 4), torch.zeros(10, 8).long()):
    loss = nn.functional.cross_entropy(model(x), y)
    losses.update(loss, len(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(losses)
"""
TEMPLATE = "fmtstr = '{name} {avg' + self.fmt + '}'\n        return fmtstr.format("


def repair(text: str) -> list[tuple[str, str]]:
    code = METER.replace("{text}", text)
    findings = findings_of(Path("train.py"), code)
    return [(each.code, each.fix.applicability.value) for each in findings if each.fix is not None]


@pytest.mark.parametrize(
    "text",
    [
        f"{TEMPLATE}**self.__dict__)",
        f"{TEMPLATE}**vars(self))",
        f"{TEMPLATE}**{{**self.__dict__, 'name': 1}})",
        "return ' '.join(f'{value:.3f}' for key, value in self.__dict__.items() if key not in ('name', 'fmt'))",
    ],
)
def test_a_text_that_is_made_of_all_attributes(text: str) -> None:
    assert repair(text) == [("GF101", Applicability.SAFE.value)]


@pytest.mark.parametrize(
    "text",
    [
        "return '{0.avg.grad_fn}'.format(self)",
        "fmtstr = '{avg.' + self.fmt + '}'\n        return fmtstr.format(**self.__dict__)",
        "fmtstr = input() + self.fmt\n        return fmtstr.format(**self.__dict__)",
        "self.__dict__.update(other=[each.backward for each in self.__dict__.values()])\n        return ''",
    ],
)
def test_a_text_or_mapping_that_may_ask_for_graphs(text: str) -> None:
    assert ("GF101", Applicability.SAFE.value) not in repair(text)

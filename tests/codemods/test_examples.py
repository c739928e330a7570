"""The page of each rule: its example is found by the rule, and what it says to use instead is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphfix.codemods import RULES
from graphfix.codemods.base import Rule
from graphfix.run.engine import analyse

PREAMBLE = """\
import math
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn.functional as F
from torch import nn

batch, hidden = 8, 4
model = nn.Linear(4, 4)
trunk = nn.Linear(4, 4)
head_a = nn.Linear(4, 4)
head_b = nn.Linear(4, 4)
generator = nn.Linear(4, 4)
critic = nn.Linear(4, 4)
netG = nn.Linear(100, 4)
rnn = nn.GRU(4, 4)
logits = nn.Parameter(torch.zeros(4))
heads = [head_a, head_b]
criterion = nn.MSELoss()
optimizer = torch.optim.SGD([*model.parameters(), *trunk.parameters(), *rnn.parameters(), logits], lr=0.1)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
generator_optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
x = y = a = b = z = real = ones = zeros = torch.randn(8, 4)
targets = [y, y]
loader = [(torch.randn(8, 4), torch.randn(8, 4)) for _ in range(9)]
pool = ThreadPoolExecutor()
total = 0.0
"""


@pytest.fixture(params=RULES, ids=lambda rule: rule.code)
def rule(request: pytest.FixtureRequest) -> Rule:
    return request.param


def told(program: str) -> set[str]:
    found = analyse(Path("page.py"), PREAMBLE + program)
    assert not found.faults and not found.unfinished
    return {finding.code for finding in found.findings}


def block(rule: Rule, section: str) -> str:
    (code,) = re.findall(rf"## {section}\n```python\n(.*?)```", rule.page, re.DOTALL)
    return code


def test_what_stands_before_an_example_is_right() -> None:
    assert told("loss = model(x).mean()\nloss.backward()\n") == set()


def test_the_example_is_found(rule: Rule) -> None:
    assert rule.code in told(block(rule, "Example"))


def test_what_to_use_instead_is_right(rule: Rule) -> None:
    """Nothing at all is told of it, by this rule or by another."""
    assert told(block(rule, "Use instead")) == set()


def test_what_to_use_instead_is_whole(rule: Rule) -> None:
    """A part of a program would be right because nothing of it is understood: it is as long as the example, or nearly."""
    example, instead = (len(block(rule, section).splitlines()) for section in ("Example", "Use instead"))
    assert instead >= example - 2

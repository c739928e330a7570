"""What a run of graphfix makes of a small program: for the tests of the single rules."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.engine import analyse
from graphfix.run.examine import Job, examine
from graphfix.run.precedence import told_once
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
PREAMBLE = """\
import copy
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
trained = [model, trunk, head_a, head_b, rnn]
optimizer = torch.optim.SGD([*(p for each in trained for p in each.parameters()), logits], lr=0.1)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
generator_optimizer = torch.optim.SGD(generator.parameters(), lr=0.1)
x = y = a = b = z = real = ones = zeros = torch.randn(8, 4)
targets = [y, y]
loader = [(torch.randn(8, 4), torch.randn(8, 4)) for _ in range(9)]
pool = ThreadPoolExecutor()
total = 0.0
"""


def repaired(folder: Path, program: str, unsafe: bool = False, select: tuple[str, ...] = ("GF9",)) -> str:
    """The program as its repair leaves it; it stands behind HEAD, which has to stay as it is."""
    path = folder / "toy.py"
    path.write_text(HEAD + program.lstrip("\n") + USES)
    outcome = examine(path, Job((folder,), Wanted(select, unsafe=unsafe), repair=True))
    assert outcome.reason == ""
    assert not outcome.broken
    text = outcome.after.decode()
    assert text.startswith(HEAD)
    return "\n" + text.removeprefix(HEAD).removesuffix(USES)


def is_left_alone(folder: Path, program: str, select: tuple[str, ...] = ("GF9",)) -> bool:
    """Whether nothing is repaired even where unsafe fixes are asked for."""
    return repaired(folder, program, unsafe=True, select=select) == program


def has_to_be_asked_for(folder: Path, program: str, select: tuple[str, ...] = ("GF9",)) -> bool:
    """Whether there is a repair, and it is unsafe."""
    return repaired(folder, program, select=select) == program != repaired(folder, program, unsafe=True, select=select)


def told(program: str) -> set[str]:
    """The codes of all findings that are told of a program that stands behind PREAMBLE."""
    found = analyse(Path("page.py"), PREAMBLE + program)
    assert not found.faults and not found.unfinished
    return {finding.code for finding in told_once(found.findings)}

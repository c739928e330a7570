"""What a run of graphfix makes of a small program: for the tests of the single rules."""

from __future__ import annotations

from pathlib import Path

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

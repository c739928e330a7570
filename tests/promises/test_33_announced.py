"""Promise 33: what `check` announces, `apply` does."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

from .fixtures import PAIRS, label, selection

pytestmark = pytest.mark.deep

RECURRENCE = """\
import torch
cell = torch.nn.Linear(4, 4)
h = torch.zeros(5, 4)
for i in range(1, 5):
    h[i] = torch.tanh(cell(h[i - 1]))
    h[i] += torch.sigmoid(h[i - 1] * h[i])
h.sum().backward()
"""
LAYERS = """\
import torch
layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
for x in load():
    h = torch.zeros(3, 4)
    for t in range(4):
        for layer in range(3):
            h[layer] = torch.tanh(layers[layer](x if layer == 0 else h[layer - 1]))
    h[2].sum().backward()
"""


def disagreement(path: Path, data: bytes, codes: tuple[str, ...] = ()) -> tuple[int, int]:
    """How many fixes `check` announces, and how many `apply` makes; each more that it leaves is one that it was to make."""
    wanted = Wanted(codes)
    checked = examine(path, Job((path.parent,), wanted, ahead=True), data)
    applied = examine(path, Job((path.parent,), wanted, repair=True), data)
    assert not checked.faults and not applied.faults
    announced = [each for each in checked.findings if each.fix is not None and each.fix.applicability is Applicability.SAFE]
    left = [each for each in applied.findings if each.fix is not None and each.fix.applicability is Applicability.SAFE]
    return len(announced), len(applied.fixed) + len(left)


@pytest.mark.parametrize("pair", PAIRS, ids=label)
def test_every_announced_fix_of_a_fixture_is_made(pair: Path) -> None:
    before = pair / "before.py"
    announced, made = disagreement(before, before.read_bytes(), selection(before))
    assert announced == made


@pytest.mark.parametrize("text", (RECURRENCE, LAYERS), ids=("recurrence", "layers"))
def test_a_recurrence_in_a_buffer_is_repaired(text: str, tmp_path: Path) -> None:
    announced, made = disagreement(tmp_path / "train.py", text.encode())
    assert announced == made > 0

"""A fix of very many places is not proven place by place."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.obligations.obligations import MOST_PLACES
from graphfix.run.engine import findings_of

PROGRAM = """import torch
model = torch.nn.Linear(2, 1)
total = 0
for i in range(9):
{body}
print(float(total))
"""
ADDED = "    loss = model(torch.ones(2)).sum()\n    loss.backward()\n    total += loss"


@pytest.mark.parametrize(("places", "applicability"), [(2, Applicability.SAFE), (MOST_PLACES + 1, Applicability.UNSAFE)])
def test_a_fix_of_too_many_places_is_left_to_its_user(places: int, applicability: Applicability) -> None:
    (finding,) = [
        each for each in findings_of(Path("train.py"), PROGRAM.format(body="\n".join([ADDED] * places))) if each.code == "GF101"
    ]
    assert finding.fix is not None and len(finding.fix.operations) == places
    assert finding.fix.applicability is applicability
    assert any("too many edits" in label.message for label in finding.story) is (applicability is Applicability.UNSAFE)

"""Repairs that come to rest: what a pass inserts is understood by the next."""

from __future__ import annotations

from pathlib import Path

from graphfix.run.examine import Job, examine
from graphfix.run.selection import Wanted

COLLECTED = """\
import torch

model = torch.nn.Linear(3, 1)
predictions = None
for batch in torch.randn(5, 4, 3):
    output = model(batch)
    if predictions is None:
        predictions = output
    else:
        predictions = torch.cat((predictions, output))
print(predictions.detach().mean().item())
"""


def test_a_detach_behind_one_arm_is_enough(tmp_path: Path) -> None:
    """The other arm's graph is bounded: it is not detached again and again."""
    path = tmp_path / "collect.py"
    path.write_text(COLLECTED)
    outcome = examine(path, Job((tmp_path,), Wanted(unsafe=False), repair=True))
    assert outcome.after is not None
    assert outcome.after.count(b"predictions = predictions.detach()") == 1
    assert outcome.findings == ()

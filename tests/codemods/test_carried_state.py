"""GF201: state that an iteration hands to the next with its graph."""

from __future__ import annotations

from pathlib import Path

from .toys import is_left_alone, repaired

COLLECTED = """
net = nn.Linear(3, 1)
predictions = None
for batch in torch.randn(5, 4, 3):
    output = net(batch)
    if predictions is None:
        predictions = output
    else:
        predictions = torch.cat((predictions, output))
print(predictions.detach().mean().item())
"""


def test_a_detach_behind_one_arm_is_enough(tmp_path: Path) -> None:
    """The other arm's graph is bounded: what a pass inserts is understood by the next, and not detached again and again."""
    after = repaired(tmp_path, COLLECTED, select=())
    assert after.count("predictions = predictions.detach()") == 1
    assert is_left_alone(tmp_path, after, select=())

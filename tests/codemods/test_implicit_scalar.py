"""GF904: a tensor that requires grad where a number is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from .toys import is_left_alone, repaired

LEFT_ALONE = {
    "detached": """
v = float(loss.detach())
""",
    "under no_grad": """
with torch.no_grad():
    v = float(loss)
""",
    "maybe a number": """
total = 0
for i in range(5):
    v = float(total)
    total = total + F.mse_loss(net(x), x).item()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(tmp_path: Path, program: str) -> None:
    assert is_left_alone(tmp_path, program)


REPAIRED = {
    "a float": (
        """
v = float(loss)
""",
        """
v = loss.item()
""",
    ),
    "a sum of two": (
        """
v = float(loss + loss)
""",
        """
v = (loss + loss).item()
""",
    ),
    "an int": (
        """
v = int(loss)
""",
        """
v = int(loss.item())
""",
    ),
    "a power": (
        """
v = math.pow(loss, 2)
""",
        """
v = math.pow(loss.item(), 2)
""",
    ),
    "a leaf that requires grad": (
        """
w = torch.tensor(1.0, requires_grad=True)
v = float(w)
""",
        """
w = torch.tensor(1.0, requires_grad=True)
v = w.item()
""",
    ),
}


@pytest.mark.parametrize(("before", "after"), REPAIRED.values(), ids=REPAIRED)
def test_what_is_repaired(tmp_path: Path, before: str, after: str) -> None:
    assert repaired(tmp_path, before) == after

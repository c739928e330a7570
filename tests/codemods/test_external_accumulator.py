"""GF204: a total still holds the losses of earlier iterations when it is walked."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "it is set up in the loop": """
for x, y in loader:
    total = 0.0
    total = total + F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
    "it is walked once, behind the loop": """
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
optimizer.zero_grad()
total.backward()
optimizer.step()
""",
    "it starts anew behind each walk": """
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
    total = 0.0
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "it is set up before the loop": """
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF204"}

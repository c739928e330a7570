"""GF204: a total still holds the losses of earlier iterations at its backward()."""

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
    "a counter takes another loss in each iteration": """
losses, i = [F.mse_loss(head_a(x), y), F.mse_loss(head_b(x), y)], 0
while i < len(losses):
    losses[i].backward()
    i += 1
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
    "it is walked at the end of each window that the loop counts": """
seen = 0
for x, y in loader:
    total = total + F.mse_loss(model(x), y)
    seen += 1
    if seen == 3:
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        seen = 0
""",
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

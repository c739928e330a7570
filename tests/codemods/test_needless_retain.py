"""GF305: a graph is retained that nobody walks again."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "another loss walks it": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward(retain_graph=True)
loss_b.backward()
""",
    "the same loss is walked again": """
loss = criterion(model(x), y)
loss.backward(retain_graph=True)
loss.backward()
""",
    "an expression says when": """
last = len(loader) - 1
for step, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward(retain_graph=step < last)
""",
    "nothing is retained": """
loss = criterion(model(x), y)
loss.backward(retain_graph=False)
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the last walk of a graph": """
features = trunk(x)
loss_a = F.mse_loss(head_a(features), a)
loss_b = F.mse_loss(head_b(features), b)
loss_a.backward(retain_graph=True)
loss_b.backward(retain_graph=True)
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF305"}

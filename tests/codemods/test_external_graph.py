"""GF203: a graph that is built before a loop is walked in every iteration."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "it is built in the loop": """
for x, y in loader:
    weights = F.softmax(logits, dim=0)
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "it is detached": """
weights = F.softmax(logits, dim=0).detach()
for x, y in loader:
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "it has no graph": """
weights = F.softmax(torch.zeros(4), dim=0)
for x, y in loader:
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "one walk is all there is": """
weights = F.softmax(logits, dim=0)
loss = 0.0
for x, y in loader:
    loss = loss + F.mse_loss(model(x) @ weights, y)
loss.backward()
""",
    "the walk ends the loop": """
weights = F.softmax(logits, dim=0)
for x, y in loader:
    loss = F.mse_loss(model(x) @ weights, y)
    loss.backward()
    break
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "a target of a frozen network": """
target = trunk(torch.ones(8, 4))
for x, y in loader:
    loss = F.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF203"}

"""GF306: retaining hides a graph that grows from iteration to iteration."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "the state is detached": """
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    out, h = rnn(x, h.detach())
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "it is retained for another loss of the iteration": """
for x, y in loader:
    features = trunk(x)
    loss_a, loss_b = head_a(features).mean(), head_b(features).mean()
    optimizer.zero_grad()
    loss_a.backward(retain_graph=True)
    loss_b.backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the state of a recurrent network": """
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF306"}

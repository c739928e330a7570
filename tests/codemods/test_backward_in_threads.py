"""GF308: several threads walk one graph."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "one thread walks the sum": """
def job(head, features, y):
    loss = F.mse_loss(head(features), y)
    return loss

features = trunk(x)
jobs = [pool.submit(job, head, features, y) for head, y in zip(heads, targets)]
sum(job.result() for job in jobs).backward()
""",
    "what they share has no graph": """
def job(head, features, y):
    loss = F.mse_loss(head(features), y)
    loss.backward()

features = trunk(x).detach()
jobs = [pool.submit(job, head, features, y) for head, y in zip(heads, targets)]
""",
    "every walk retains it": """
def job(head, features, y):
    loss = F.mse_loss(head(features), y)
    loss.backward(retain_graph=True)

features = trunk(x)
jobs = [pool.submit(job, head, features, y) for head, y in zip(heads, targets)]
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "each thread walks its loss": """
def job(head, features, y):
    loss = F.mse_loss(head(features), y)
    loss.backward()

features = trunk(x)
jobs = [pool.submit(job, head, features, y) for head, y in zip(heads, targets)]
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF308"}

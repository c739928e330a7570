"""GF103: an evaluation builds graphs that nobody walks."""

from __future__ import annotations

import pytest

from .toys import told

LEFT_ALONE = {
    "under no_grad": """
def evaluate(model):
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            print(F.mse_loss(model(x), y).item())

evaluate(model)
model(x).sum().backward()
""",
    "decorated with no_grad": """
@torch.no_grad()
def evaluate(model):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())

evaluate(model)
model(x).sum().backward()
""",
    "it is walked in evaluation mode": """
model.eval()
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "nothing is read out of what it computes": """
def predict(model, x):
    return model(x)

loss = predict(model, x).mean()
loss.backward()
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "a function that evaluates": """
def evaluate(model):
    model.eval()
    for x, y in loader:
        print(F.mse_loss(model(x), y).item())

evaluate(model)
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF103"}

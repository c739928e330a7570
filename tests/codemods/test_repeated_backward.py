"""GF302: one loss is walked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.examine import Job, examine

from .toys import told

LEFT_ALONE = {
    "the loss is computed anew": """
loss = criterion(model(x), y)
loss.backward()
loss = criterion(model(x), y)
loss.backward()
""",
    "only one of two branches walks it": """
loss = criterion(model(x), y)
if len(x) > 4:
    loss.backward()
else:
    (2 * loss).backward()
""",
    "a closure computes it each time": """
optimizer = torch.optim.LBFGS(model.parameters())

def closure():
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    return loss

optimizer.step(closure)
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "a line that stands there twice": """
loss = criterion(model(x), y)
loss.backward()
loss.backward()
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF302"}


def test_a_loss_that_another_file_has_walked(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("def step(net, x):\n    loss = net(x).sum()\n    loss.backward()\n    return loss\n")
    script = "import torch\nfrom steps import step\nnet = torch.nn.Linear(3, 1)\nfor x in torch.ones(4, 2, 3):\n    step(net, x)"
    (tmp_path / "train.py").write_text(f"{script}.backward()\n")
    outcome = examine(tmp_path / "train.py", Job((tmp_path,), repair=True))
    assert outcome.after.decode() == f"{script}\n" and not outcome.faults

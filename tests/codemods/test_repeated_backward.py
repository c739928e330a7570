"""GF302: one loss is walked twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of
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


WRAPPED = """
import torch
from torch import nn

net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)

class Stepper:
    def backward(self, loss):
        {body}

def criterion(stepper, x):
    loss = net(x).pow(2).mean()
    stepper.backward(loss)
    return loss

stepper = Stepper()
for x in torch.ones(3, 4, 3):
    opt.zero_grad()
    loss = criterion(stepper, x)
    {second}
    opt.step()
"""


def test_two_calls_of_a_function_that_goes_backward() -> None:
    """The calls are named, not the function; the second one goes."""
    program = WRAPPED.format(body="loss.backward()", second="stepper.backward(loss)")
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF302")
    rows = [program[: label.span.start].count("\n") + 1 for label in finding.story]
    words = ("stepper.backward(loss)\n    return", "stepper.backward(loss)\n    opt", "loss.backward()")
    assert rows == [program[: program.index(word)].count("\n") + 1 for word in words]
    assert finding.fix is not None and "not the one" not in finding.fix.title
    repaired = apply_fixes(program, [finding.fix]).text
    assert repaired.count("stepper.backward(loss)") == 1 and "loss = criterion" in repaired.split("opt.step")[0]
    exec(compile(repaired, "train.py", "exec"), {})


def test_a_call_whose_result_is_taken_stays() -> None:
    program = WRAPPED.format(body="loss.backward()\n        return loss.item()", second="print(stepper.backward(loss))")
    (finding,) = (each for each in findings_of(Path("train.py"), program) if each.code == "GF302")
    assert finding.fix is not None and "print" in apply_fixes(program, [finding.fix]).text

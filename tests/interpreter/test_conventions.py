"""What a project's settings say of its own functions, and of what is put away."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.interpreter.conventions import Conventions
from graphfix.model import Append
from graphfix.run.engine import findings_of
from graphfix.settings.rows import named_rows

TRAIN = """\
import torch
import engine
from mylib.losses import focal

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for step in range(10):
    optimizer.zero_grad()
    loss = {loss}
    {walk}
    optimizer.step()
    total += loss
{after}
"""
MEAN = "model(torch.randn(3)).mean()"


def cuts(text: str, conventions: Conventions) -> list[tuple[str, str]]:
    found = findings_of(Path("train.py"), text, (), conventions)
    return [
        (finding.code, operation.text)
        for finding in found
        for operation in (finding.fix.operations if finding.fix is not None else ())
        if isinstance(operation, Append)
    ]


@pytest.mark.parametrize("name", ["run_pass", "engine.run_pass"])
def test_a_function_that_walks(name: str) -> None:
    text = TRAIN.format(loss=MEAN, walk="engine.run_pass(loss)", after="print(total)").replace("    optimizer.zero_grad()\n", "")
    assert cuts(text, Conventions()) == []  # nothing in it spells that something is trained
    assert cuts(text, Conventions(rows=named_rows(backwards=(name,)))) == [("GF101", ".item()")]


def test_another_module_s_function_is_not_meant() -> None:
    text = (
        "import torch\nimport engine\nmodel = torch.nn.Linear(3, 1)\nx = model(torch.randn(3))\n"
        "for step in range(10):\n    engine.run_pass(x.sum())\n"
    )
    assert findings_of(Path("t.py"), text, (), Conventions(rows=named_rows(backwards=("trainer.run_pass",)))) == []
    found = findings_of(Path("t.py"), text, (), Conventions(rows=named_rows(backwards=("engine.run_pass",))))
    assert [finding.code for finding in found] == ["GF203"]


def test_a_method_of_an_unknown_object_that_walks() -> None:
    text = "def fit(runner, losses):\n    loss = sum(losses)\n    runner.walk(loss)\n    runner.walk(loss)\n"
    assert findings_of(Path("fit.py"), text) == []
    found = findings_of(Path("fit.py"), text, (), Conventions(rows=named_rows(backwards=("walk",))))
    assert all(finding.code.startswith("GF3") for finding in found)


@pytest.mark.parametrize("name", ["focal", "mylib.losses.focal"])
def test_a_function_that_makes_a_tensor(name: str) -> None:
    text = TRAIN.format(loss="focal(model(torch.randn(3)), None)", walk="engine.run_pass(loss)", after="print(total)")
    assert cuts(text, Conventions(rows=named_rows(backwards=("run_pass",)))) == []
    # nothing says that it has one element
    assert cuts(text, Conventions(rows=named_rows((name,), ("run_pass",)))) == [("GF101", ".detach()")]


def test_detach_always() -> None:
    text = TRAIN.format(loss=MEAN, walk="loss.backward()", after="print(total)")
    assert cuts(text, Conventions()) == [("GF101", ".item()")]
    assert cuts(text, Conventions(accumulate="detach")) == [("GF101", ".detach()")]


def test_numbers_for_readers_out_of_sight() -> None:
    text = TRAIN.format(loss=MEAN, walk="loss.backward()", after="engine.keep(total)")
    assert cuts(text, Conventions()) == [("GF101", ".detach()")]
    assert cuts(text, Conventions(accumulate="item")) == [("GF101", ".item()")]


def test_a_reader_in_sight_that_needs_a_tensor_gets_one() -> None:
    text = TRAIN.format(loss=MEAN, walk="loss.backward()", after="print(total.mean())")
    assert cuts(text, Conventions(accumulate="item")) == [("GF101", ".detach()")]

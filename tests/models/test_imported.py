"""Models, losses and scalers out of files that cannot be read, or that come as parameters: what they give is followed all the same."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

TRAIN = """\
import torch
import torch.nn.functional as F
{head}

total = 0
history, outs = [], []
for x, y in loader:
    out = model(x)
    loss = {loss}
    optimizer.zero_grad()
    {backward}
    total {adds} loss
    history.append(loss)
    outs.append(out)
print(total, len(history), len(outs))
"""
PLAIN = "loss.backward()\n    optimizer.step()"
SCALED = "scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()"
PROGRAMS = {
    "criterion": ("from setup import *\nfrom setup import model, loader, criterion, optimizer", "criterion(out, y)", PLAIN),
    "nothing but objects": ("from setup import model, loader, criterion, optimizer", "criterion(out, y)", PLAIN),
    "a loss of torch": ("from setup import model, loader, optimizer", "F.mse_loss(out, y)", PLAIN),
    "a scaler": ("from setup import model, loader, criterion, optimizer, scaler", "criterion(out, y)", SCALED),
    "two losses": (
        "from setup import model, loader, criterion, optimizer",
        "criterion(out, y) + criterion(-out, y)",
        "(loss / 4).backward()\n    optimizer.step()",
    ),
    "two scaled losses": (
        "from setup import model, loader, criterion, optimizer, scaler",
        "(criterion(out, y) + criterion(-out, y)) / 2",
        SCALED,
    ),
}
IN_A_FUNCTION = """\
def train(model, loader, criterion, optimizer, scaler):
    total = 0
    for x, y in loader:
        out = model(x)
        loss = criterion(out, y) + criterion(-out, y)
        optimizer.zero_grad()
        scaler.scale(loss / 4).backward()
        scaler.step(optimizer)
        scaler.update()
        total {adds} loss{end}
    return total
"""


class Scaler:
    def scale(self, loss: object) -> object:
        return loss * 2.0  # type: ignore[operator]

    def step(self, optimizer: object) -> None:
        optimizer.step()  # type: ignore[attr-defined]

    def update(self) -> None:
        pass


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The file that the programs import, which the analysis does not find."""
    made = types.ModuleType("setup")
    made.model = torch.nn.Linear(2, 1)
    made.loader = [(torch.ones(3, 2), torch.ones(3, 1))] * 3
    made.criterion = torch.nn.MSELoss()
    made.optimizer = torch.optim.SGD(made.model.parameters(), 0.1)
    made.scaler = Scaler()
    monkeypatch.setitem(sys.modules, "setup", made)
    return made


def told(text: str) -> list[tuple[str, str]]:
    """The code of each finding, and the text that it points to."""
    found = findings_of(Path("program.py"), text)
    return [(finding.code, text.encode()[finding.span.start : finding.span.end].decode()) for finding in found]


@pytest.mark.parametrize("adds", ["+=", "= total +"])
@pytest.mark.parametrize(("head", "loss", "backward"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_total_and_a_history_of_what_imported_objects_give_are_told(
    setup: types.ModuleType, head: str, loss: str, backward: str, adds: str
) -> None:
    text = TRAIN.format(head=head, loss=loss, backward=backward, adds=adds)
    names: dict[str, object] = {}
    exec(compile(text, "program.py", "exec"), names)
    assert names["total"].grad_fn is not None  # type: ignore[attr-defined]
    assert {("GF101", f"total {adds} loss"), ("GF102", "history.append(loss)")} <= set(told(text))


def test_the_outputs_of_an_imported_model_that_is_trained_here_are_told() -> None:
    head = "from setup import model, loader, criterion\noptimizer = torch.optim.SGD(model.parameters(), 0.1)"
    text = TRAIN.format(head=head, loss="criterion(out, y)", backward=PLAIN, adds="+=")
    assert ("GF102", "outs.append(out)") in told(text)


def test_a_total_of_numbers_is_fine() -> None:
    text = TRAIN.format(head=PROGRAMS["a scaler"][0], loss="criterion(out, y)", backward=SCALED, adds="+=")
    text = text.replace("total += loss", "total += loss.item()").replace("(loss)\n    outs.append(out)", "(loss.item())")
    assert told(text) == []


@pytest.mark.parametrize("adds", ["+=", "= total +"])
def test_a_scaler_that_comes_as_a_parameter_scales_what_it_is_given(adds: str) -> None:
    assert told(IN_A_FUNCTION.format(adds=adds, end="")) == [("GF101", f"total {adds} loss")]
    assert told(IN_A_FUNCTION.format(adds=adds, end=".detach()")) == []


def test_what_only_scales_is_no_scaler() -> None:
    text = (
        IN_A_FUNCTION.format(adds="+=", end="")
        .replace("scaler.step(optimizer)", "optimizer.step()")
        .replace("scaler.update()", "pass")
    )
    assert told(text) == []

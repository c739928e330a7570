"""What a walk shows of a value holds for what the same code makes again, and not for its other calls and turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.project import importers
from graphfix.run.engine import findings_of

HEAD = """
import torch
import torch.nn.functional as F
from elsewhere import accuracy, build, criterion, fns

def scaled(f, out, y):
    return f(out, y) / 8

model, optimizer = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total, outs = 0, []
for x, y in loader:
    optimizer.zero_grad()
    out = model(x)
"""
TAIL = """
    optimizer.step()
print(total, len(outs))
"""


def found(body: str) -> list[tuple[str, Applicability | None]]:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    findings = findings_of(Path("train.py"), f"{HEAD}{lines}{TAIL}")
    return [(finding.code, finding.fix.applicability if finding.fix is not None else None) for finding in findings]


@pytest.mark.parametrize(
    "body",
    [
        "scaled(criterion, out, y).backward()\ntotal += scaled(accuracy, out, y)",
        "values = [f(out, y) for f in (criterion, accuracy)]\nvalues[0].backward()\ntotal += values[1]",
        "loss, hits = [f(out, y) / 2 for f in (criterion, accuracy)]\nloss.backward()\ntotal += hits",
        "values = {}\nfor name, f in fns.items():\n    values[name] = f(out, y)\nvalues['loss'].backward()\ntotal += values['acc']",
    ],
    ids=("another call", "another turn", "another turn of an operation", "another turn of a loop"),
)
def test_what_another_function_gives_may_be_a_number(body: str) -> None:
    assert found(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "loss = scaled(criterion, out, y)\nloss.backward()\ntotal += loss",
        "loss = criterion(out, y)\nif y.any():\n    loss.backward()\ntotal += loss",
        "losses = [criterion(part, y) for part in (out, out * 2)]\nfor loss in losses:\n    loss.backward(retain_graph=True)\ntotal += losses[1]",
    ],
    ids=("the same call", "another iteration", "walks in a loop of their own"),
)
def test_what_is_walked_is_a_tensor_in_every_iteration(body: str) -> None:
    assert ("GF101", Applicability.SAFE) in found(body)


@pytest.mark.parametrize(
    ("loss", "safe"),
    [("criterion(out, y)", False), ("F.mse_loss(out, y)", True), ("torch.relu(out).sum()", True)],
)
def test_what_a_module_returns_is_a_tensor_where_torch_takes_it(loss: str, safe: bool) -> None:
    body = f"loss = {loss}\nloss.backward()\nouts.append(out)"
    assert found(body) == [("GF102", Applicability.SAFE if safe else Applicability.UNSAFE)]


@pytest.mark.parametrize(("head", "safe"), [("", False), ("import torch\n", True), ("if 1:\n    from torch import nn\n", True)])
def test_another_library_may_have_a_backward_too(head: str, safe: bool) -> None:
    program = """
from engine import model, data
total = 0
for x in data:
    loss = model(x)
    loss.backward()
    total += loss
print(total)
"""
    (told,) = findings_of(Path("train.py"), head + program)
    assert told.fix is not None and told.fix.applicability is (Applicability.SAFE if safe else Applicability.UNSAFE)


METER = """
import torch
from elsewhere import criterion, model, optimizer

class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value):
        {body}self.sum += value

def fit(loader):
    meter = Meter()
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        {walk}optimizer.step()
        meter.update(loss)
    print(meter.sum)
"""


@pytest.mark.parametrize(
    ("other", "body", "walk", "safe"),
    [
        ("", "", "loss.backward(); ", True),
        ("from train import Meter\nMeter().update(0.5)\n", "", "loss.backward(); ", False),
        ("from train import Meter\nMeter().update(0.5)\n", "value.backward(); ", "", True),
    ],
    ids=("nobody else", "another file", "only what goes backward works"),
)
def test_a_function_may_be_given_a_number_by_another_file(tmp_path: Path, other: str, body: str, walk: str, safe: bool) -> None:
    path = tmp_path / "train.py"
    path.write_text(METER.format(body=body, walk=walk))
    (tmp_path / "other.py").write_text(other)
    told = [f for f in findings_of(path, path.read_text(), (tmp_path,)) if f.code == "GF101"]
    assert [f.fix and f.fix.applicability for f in told] == [Applicability.SAFE if safe else Applicability.UNSAFE]


TRAINER = """
import torch
import torch.nn.functional as F

class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def metric(self, out, y):
        return F.l1_loss(out, y)

    def fit(self, loader):
        total = 0
        for x, y in loader:
            out = self.model(x)
            self.optimizer.zero_grad()
            F.mse_loss(out, y).backward()
            self.optimizer.step()
            total += self.metric(out, y)
        print(total)

model = torch.nn.Linear(3, 3)
Trainer(model, torch.optim.SGD(model.parameters(), lr=0.1)).fit(torch.ones(3, 2, 4, 3))
"""


@pytest.mark.parametrize(("method", "safe"), [("metric", False), ("report", True)])
def test_a_method_may_give_a_number_in_a_subclass_of_another_file(tmp_path: Path, method: str, safe: bool) -> None:
    path = tmp_path / "base.py"
    path.write_text(TRAINER)
    special = f"from base import Trainer\n\nclass Rounded(Trainer):\n    def {method}(self, out, y):\n        return round(out.item())\n"
    (tmp_path / "special.py").write_text(f"{special}\nprint(Rounded.metric)\n")
    told = [f for f in findings_of(path, TRAINER, (tmp_path,)) if f.code == "GF101"]
    assert [f.fix and f.fix.applicability for f in told] == [Applicability.SAFE if safe else Applicability.UNSAFE]


KEEPS = """
import torch
import torch.nn.functional as F

class Trainer:
    def __init__(self):
        self.history = []

    def fit(self, model, optimizer, loader):
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            self.history.append(loss)

if __name__ == "__main__":
    model = torch.nn.Linear(3, 3)
    Trainer().fit(model, torch.optim.SGD(model.parameters(), lr=0.1), torch.ones(3, 2, 4, 3))
"""


@pytest.mark.parametrize(
    ("read", "cut"),
    [
        ("", ".item()"),
        ("print(trainer.lengths)", ".item()"),
        ("print(trainer.history[0].shape)", ".detach()"),
        ("print(trainer.history[0].grad_fn)", "unsafe"),
    ],
)
def test_what_another_file_takes_out_of_an_object(tmp_path: Path, read: str, cut: str) -> None:
    path = tmp_path / "base.py"
    path.write_text(KEEPS)
    (tmp_path / "other.py").write_text(f"from base import Trainer\ntrainer = Trainer()\n{read}\n")
    (told,) = [f for f in findings_of(path, KEEPS, (tmp_path,)) if f.code == "GF102"]
    assert told.fix is not None
    assert cut in (told.fix.title if told.fix.applicability is Applicability.SAFE else "unsafe")


def test_a_project_that_is_too_large_to_be_searched_may_hold_any_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "base.py"
    for program, fixed in ((TRAINER, "self.metric"), (KEEPS, "loss")):
        path.write_text(program)
        monkeypatch.setattr(importers, "MAX_ENTRIES", 0)
        importers.imports_below.cache_clear()
        told = [f for f in findings_of(path, program, (tmp_path,)) if f.code in ("GF101", "GF102")]
        assert [f.fix and (f.fix.applicability, fixed in f.fix.title) for f in told] == [(Applicability.UNSAFE, True)]
    importers.imports_below.cache_clear()

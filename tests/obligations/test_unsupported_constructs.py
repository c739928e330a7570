"""Ways that values go unseen: what may be walked, written to or read there is not repaired by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

STORED = """
import copy, operator, pickle, torch
import numpy as np
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
kept = []
for step in range(5):
    x = torch.randn(7, 3)
    loss = (net(x) - 2 * x[:, :1]).pow(2).mean()
    kept.append(loss)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
print(["%.4f" % value for value in kept])
"""

TOTAL = """
import operator, torch
import numpy as np
from collections import UserDict
from torch import nn

{before}
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
total, held, box = {start}, [], {{}}
for step in range(6):
    x = torch.randn(7, 3)
    loss = (net(x) - 2 * x[:, :1]).pow(2).mean()
    total = total + loss
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
{after}
print(float(total))
"""


def safe(code: str, *wanted: str) -> list[str]:
    findings = findings_of(Path("train.py"), code)
    repairs = [(each.code, each.fix.applicability) for each in findings if each.fix is not None]
    return [code for code, applicability in repairs if applicability is Applicability.SAFE and code in wanted]


def repair_of_stored(after: str) -> set[str]:
    findings = findings_of(Path("train.py"), STORED.format(after=after))
    return {
        operation.text for each in findings if each.fix is not None and each.fix.applicability is Applicability.SAFE
        for operation in each.fix.operations
    }  # fmt: skip


def test_what_nobody_writes_to_is_put_away_as_a_number() -> None:
    assert repair_of_stored("pass") == {".item()"}


@pytest.mark.parametrize(
    "after",
    [
        "loss.detach().mul_(2)",
        "loss.data.mul_(2)",
        "loss.detach().copy_(torch.tensor(1.0))",
        "getattr(loss.detach(), 'mul_')(2)",
        "nn.init.constant_(loss.detach(), 1.0)",
        "F.threshold(loss.detach(), 0.1, 9.0, inplace=True)",
        "torch.mul(loss.detach(), 2, out=loss.detach())",
        "raw = loss.detach().numpy()\n    raw *= 100",
        "raw = loss.detach().numpy()\n    np.divide(raw, 2, out=raw)",
        "torch._foreach_mul_([loss.detach()], 2.0)",
        "torch.detach(loss).mul_(2)",
        "raw = np.asarray(loss.detach())\n    raw *= 100",
        "flat = loss.detach().view(1)\n    flat /= 10",
        "with torch.no_grad():\n        loss[...] = 7.0",
        "operator.imul(loss.data, 2)",
    ],
)
def test_what_is_written_through_its_memory_stays_a_tensor(after: str) -> None:
    assert ".item()" not in repair_of_stored(after)


@pytest.mark.parametrize(
    "after",
    ["loss.data = torch.tensor(5.0)", "setattr(loss, 'data', torch.tensor(5.0))"],
)
def test_what_gets_other_memory_is_not_detached(after: str) -> None:
    assert repair_of_stored(after) == set()


@pytest.mark.parametrize(
    ("after", "expected"),
    [("torch.save(saved, 'a')\nstart = torch.load('a')[-1]\nprint(start.sum())", []), ("print(len(saved))", ["GF102"])],
    ids=("loaded", "counted"),
)
def test_what_is_saved_and_loaded_is_a_leaf_that_needs_a_gradient(after: str, expected: list[str]) -> None:
    code = f"""
import torch
from torch import nn

cell, head = nn.RNNCell(3, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
saved = []
for step in range(5):
    x = torch.randn(2, 3)
    h = cell(x)
    loss = (head(h) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    saved.append(h)
{after}
"""
    assert safe(code, "GF102") == expected


def test_what_runs_on_batches_has_no_number() -> None:
    code = STORED.format(after="pass") + "print(torch.func.vmap(lambda x: x * 2)(torch.ones(3)))\n"
    assert safe(code, "GF102") == []


def test_numbers_of_numpy_have_64_bits() -> None:
    code = STORED.format(after="pass") + "print(torch.arange(3) * kept[0])\n"
    assert ".item()" not in {
        operation.text
        for each in findings_of(Path("train.py"), code)
        if each.fix is not None
        for operation in each.fix.operations
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "operator.setitem(box, 'k', total)\nbox['k'].backward()"),
        ("", "operator.iconcat(held, [total])\nheld[0].backward()"),
        ("", "list.append(held, total)\nheld[0].backward()"),
        ("", "dict.__setitem__(box, 'k', total)\nbox['k'].backward()"),
        ("", "kept = UserDict(k=total)\nkept.data['k'].backward()"),
        ("", "kept = lambda t=total: t\nkept.__defaults__[0].backward()"),
        ("", "grid = np.empty(1, dtype=object)\ngrid[0] = total\ngrid.item(0).backward()"),
        (
            "class Held(list):\n    def __lshift__(self, value):\n        self[:] = [value]\n",
            "kept = Held()\nkept << total\nkept[0].backward()",
        ),
    ],
)
def test_a_total_that_is_walked_where_no_flow_leads_is_left_alone(before: str, after: str) -> None:
    assert safe(TOTAL.format(before=before, start="0", after=after), "GF101", "GF305") == []


def test_the_text_of_a_total_with_a_dimension_tells_of_its_graph() -> None:
    after = "line = f'{total}'\nprint('grad' in line)"
    code = TOTAL.format(before="", start="torch.zeros(1)", after=after).replace("retain_graph=True", "")
    assert safe(code, "GF101") == []


@pytest.mark.parametrize(
    "store",
    ["scale.cache = gain.exp()", "scale.__dict__['cache'] = gain.exp()", "gain.cache = gain.exp()"],
)
def test_what_an_evaluation_keeps_for_the_training_is_recorded(store: str) -> None:
    holder = "gain" if store.startswith("gain") else "scale"
    code = f"""
import torch
from torch import nn
import torch.nn.functional as F

gain = nn.Parameter(torch.ones(3))
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD([gain, *net.parameters()], lr=0.1)

def scale(x):
    if not hasattr({holder}, "cache"):
        {store}
    return x * {holder}.cache

def evaluate():
    total = 0.0
    for x in torch.randn(3, 2, 3):
        total += F.mse_loss(net(scale(x)), x.sum(1, keepdim=True)).item()
    return total / 3

for epoch in range(5):
    shown = evaluate()
    x = torch.randn(5, 3)
    loss = F.mse_loss(net(scale(x)), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    del {holder}.cache
    print(shown)
"""
    assert safe(code, "GF103") == []


def test_losses_that_are_looked_up_are_summed_as_they_are_written() -> None:
    code = """
import torch
from torch import nn

model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters())
for step in range(4):
    out = model(torch.randn(8, 6)).tanh()
    losses = {"a": out.pow(2).mean(), "b": out.abs().mean()}
    optimizer.zero_grad()
    for k in losses:
        losses[k].backward()
    optimizer.step()
    print({k: v.item() for k, v in losses.items()})
"""
    (finding,) = findings_of(Path("train.py"), code)
    assert finding.fix is not None
    assert finding.fix.operations[0].text == "sum(losses[k] for k in losses).backward()"


def test_a_walk_that_is_given_keywords_gets_no_further_one() -> None:
    code = """
import torch
from torch import nn

class Engine:
    def backward(self, loss, **options):
        loss.backward(**options)

model, engine = nn.Linear(6, 3), Engine()
optimizer = torch.optim.Adam(model.parameters())
for step in range(4):
    out = model(torch.randn(8, 6)).tanh()
    optimizer.zero_grad()
    engine.backward(out.pow(2).mean())
    engine.backward(out.abs().mean())
    optimizer.step()
"""
    assert all(each.fix is None for each in findings_of(Path("train.py"), code) if each.code == "GF301")

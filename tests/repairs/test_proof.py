"""Fixes that runs alone would call safe, and what the flow of the file says of them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from graphfix.model import Applicability, Finding
from graphfix.run.engine import findings_of

SETUP = """
import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
"""
TRAIN = (
    SETUP
    + """
total = 0.0
for i in range(8):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
"""
)


def found(text: str) -> list[Finding]:
    return [finding for finding in findings_of(Path("train.py"), textwrap.dedent(text)) if not finding.optional]


def only(text: str) -> Finding:
    findings = found(text)
    assert len(findings) == 1, findings
    return findings[0]


@pytest.mark.parametrize(
    ("reader", "cut"),
    [
        ("print(f'{total / 8:.3f}', round(float(total), 3), total < 1)", ".item()"),
        ("print(total.item())", ".detach()"),
        ("print((total < 1.0).item())", ".detach()"),
        ("def show(value):\n    print(value.cpu())\nshow(total)", ".detach()"),
        (
            "class Shown:\n    def __str__(self):\n        return str(self.value.item())\ns = Shown()\ns.value = total",
            ".detach()",
        ),
        ("rows = sorted([total], key=lambda each: each.item())", ".detach()"),
        ("import pickle\nrows = pickle.dumps(total)", ".detach()"),
    ],
)
def test_a_number_only_where_every_reader_takes_one(reader: str, cut: str) -> None:
    repair = only(f"{TRAIN}{reader}\n").fix
    assert repair is not None and repair.applicability is Applicability.SAFE
    assert [operation.text for operation in repair.operations] == [cut]


SILENT = {
    "a window behind a counter that runs see twice": SETUP + """
        class Window:
            def __init__(self):
                self.total, self.count = 0.0, 0
            def add(self, loss):
                self.total = self.total + loss
                self.count += 1
                if self.count % 4 == 0:
                    opt.zero_grad()
                    self.total.backward()
                    opt.step()
                    self.total = 0.0
        window = Window()
        for i in range(8):
            window.add(net(torch.randn(5, 3)).pow(2).mean())
        """,
    "a guard that goes on": SETUP + """
        losses = []
        for i in range(12):
            losses.append(net(torch.randn(5, 3)).pow(2).mean())
            if len(losses) < 4:
                continue
            opt.zero_grad()
            torch.stack(losses).mean().backward()
            opt.step()
            losses.clear()
        """,
    "a graph that a hook walks once more": SETUP + """
        aux = None
        def hook(parameter):
            aux.backward()
        head = nn.Linear(4, 1)
        head.weight.register_post_accumulate_grad_hook(hook)
        for i in range(4):
            features = net[0](torch.randn(5, 3))
            aux = features.pow(2).mean()
            head(features).pow(2).mean().backward(retain_graph=True)
        """,
    "gradients that a later iteration walks": SETUP + """
        for i in range(4):
            x = torch.randn(5, 3, requires_grad=True)
            slope = torch.autograd.grad(net(x).sum(), x, create_graph=True)[0]
            if i >= 2:
                slope.pow(2).mean().backward()
        """,
    "an evaluation whose loss is walked": SETUP + """
        def evaluate(x):
            return net(x).pow(2).mean()
        for i in range(6):
            opt.zero_grad()
            loss = evaluate(torch.randn(5, 3))
            if i % 3 == 2:
                loss.backward()
                opt.step()
        """,
}  # fmt: skip


@pytest.mark.parametrize("case", SILENT)
def test_what_the_flow_contradicts_is_not_told(case: str) -> None:
    setup, _, body = SILENT[case].partition(SETUP)
    assert found(SETUP + textwrap.dedent(body)) == []


UNSAFE = {
    "the number may be none": TRAIN.replace("total += loss", "total += min(loss, 4.0)"),
    "somebody asks for its identity": TRAIN.replace("total = 0.0", "kept = []").replace(
        "total += loss", "kept.append(loss)\n    print(kept[0] is loss)"
    ),
    "whether gradients are recorded is asked": SETUP + """
class Layer(nn.Module):
    def forward(self, x):
        return net(x) if torch.is_grad_enabled() else net(x).round()

layer = Layer()

def evaluate(x):
    layer.eval()
    return layer(x).mean().item()

opt.zero_grad()
layer(torch.randn(5, 3)).sum().backward()
opt.step()
print(evaluate(torch.randn(5, 3)))
""",
}  # fmt: skip


@pytest.mark.parametrize("case", UNSAFE)
def test_what_cannot_be_excluded_makes_a_fix_unsafe_and_is_named(case: str) -> None:
    findings = [finding for finding in found(UNSAFE[case]) if finding.fix is not None]
    assert findings
    for finding in findings:
        assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
        assert finding.story[-1].message.endswith("could not be excluded")

"""GF307: the graph of gradients is recorded for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

from .toys import told

LEFT_ALONE = {
    "a penalty walks the gradients": """
x.requires_grad_()
score = model(x).pow(2).sum()
gradient = torch.autograd.grad(score, x, create_graph=True)[0]
gradient.pow(2).mean().backward()
""",
    "no graph is recorded": """
x.requires_grad_()
score = model(x).pow(2).sum()
gradient = torch.autograd.grad(score, x)[0]
print(gradient.abs().mean().item())
""",
    "a function returns the gradients": """
def slope(x):
    x.requires_grad_()
    return torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
""",
}


@pytest.mark.parametrize("program", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_left_alone(program: str) -> None:
    assert told(program) == set()


TOLD = {
    "the gradients are only printed": """
x.requires_grad_()
score = model(x).pow(2).sum()
gradient = torch.autograd.grad(score, x, create_graph=True)[0]
print(gradient.abs().mean().item())
""",
}


@pytest.mark.parametrize("program", TOLD.values(), ids=TOLD)
def test_what_is_told(program: str) -> None:
    assert told(program) == {"GF307"}


@pytest.mark.parametrize(
    ("read", "codes"),
    [("p.grad.pow(2).sum()", []), ("getattr(p, 'grad').pow(2).sum()", []), ("p.detach().pow(2).sum()", ["GF307"])],
)
def test_gradients_that_another_file_reads(tmp_path: Path, read: str, codes: list[str]) -> None:
    (tmp_path / "probes.py").write_text(f"def penalty(net):\n    return sum({read} for p in net.parameters())\n")
    path = tmp_path / "train.py"
    text = """
import torch
from torch import nn
from probes import penalty

net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(9, 2, 3):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward(create_graph=True)
    print(penalty(net).item())
    optimizer.step()
"""
    path.write_text(text)
    assert [finding.code for finding in findings_of(path, text, (tmp_path,))] == codes

"""GF307: the graph of gradients is recorded for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability, Replace
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


FORCES = """
import torch
from torch import nn

potential = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(potential.parameters())

def error(x):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(potential(x).sum(), x, create_graph=True)
    return (slope - x).pow(2).mean()

data = [torch.randn(5, 3) for _ in range(9)]
for epoch in range(2):
    potential.train()
    for x in data[:6]:
        optimizer.zero_grad()
        error(x).backward()
        optimizer.step()
    potential.eval()
    for x in data[6:]:
        {each}
"""


@pytest.mark.parametrize(
    ("each", "is_told"),
    [
        ("print(error(x).item())", True),
        ("x = x.requires_grad_(); print(torch.autograd.grad(error(x), x)[0].norm().item())", False),
        ("error(x).backward(); optimizer.step()", False),
    ],
)
def test_a_call_that_training_and_evaluation_share(each: str, is_told: bool) -> None:
    found = [finding for finding in findings_of(Path("train.py"), FORCES.format(each=each)) if finding.code == "GF307"]
    assert bool(found) is is_told
    for finding in found:
        assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE
        (operation,) = finding.fix.operations
        assert isinstance(operation, Replace) and operation.text == "potential.training"


def test_without_a_mode_nothing_tells_training_from_evaluation() -> None:
    text = FORCES.format(each="print(error(x).item())").replace("    potential.eval()\n", "").replace("    potential.train()\n", "")
    assert "GF307" not in {finding.code for finding in findings_of(Path("train.py"), text)}

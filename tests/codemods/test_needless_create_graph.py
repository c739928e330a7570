"""GF307: the graph of gradients is recorded for nobody."""

from __future__ import annotations

import pytest

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

"""What an unknown call returns may hold tensors and numbers: what is shown of one element is not known of another."""

from __future__ import annotations

import pytest

from tests.obligations.programs import found, safe_titles

LOOP = """
import torch
from lib import compute, loader, make_model
model = make_model()
opt = torch.optim.Adam(model.parameters())
total, kept = 0, []
for x in loader:
    {made}
    opt.zero_grad()
    loss.backward()
    opt.step()
    {put}
print(total / 10)
"""
OTHERS = [
    ("loss, acc = model(x)", "total += acc"),
    ("loss, acc = compute(model, x)", "total += acc"),
    ("loss, (acc, n) = model(x)", "total += acc"),
    ("loss, *rest = model(x)", "total += rest[0]"),
    ("out = model(x); loss = out.loss", "total += out.accuracy"),
    ("out = model(x); loss = out['loss']", "total += out['accuracy']"),
    ("loss, info = model(x)", "total += info['accuracy']"),
    ("out = model(x); loss = out[0]", "kept.append(out[1])"),
]
SAME = [
    ("loss, acc = model(x)", "total += loss"),
    ("out = model(x); loss = out.loss", "total += out.loss"),
    ("out = model(x); loss = out['loss'] / 4", "total += out['loss']"),
    ("out = model(x); loss = out[0]", "total += out[0]"),
]


@pytest.mark.parametrize(("made", "put"), OTHERS)
def test_another_element_may_be_a_number(made: str, put: str) -> None:
    assert safe_titles(LOOP.format(made=made, put=put)) == []


@pytest.mark.parametrize(("made", "put"), SAME)
def test_the_element_that_is_walked(made: str, put: str) -> None:
    assert [finding.code for finding in found(LOOP.format(made=made, put=put))] == ["GF101"]


PENALTY = """
import torch
from torch import nn
net = nn.Linear(3, 1)
task = net(torch.randn(4, 3)).pow(2).mean()
decay = {decay}
(task + 0.5 * decay).backward(retain_graph=True)
(0.1 * decay).backward()
"""


@pytest.mark.parametrize(
    "decay",
    [
        "sum(p.pow(2).sum() for n, p in net.named_parameters())",
        "sum((p ** 2).sum() for p in dict(net.named_parameters()).values())",
        "sum(p.pow(2).sum() for p in filter(lambda p: p.dim() > 1, net.parameters()))",
        "sum((p + q).pow(2).sum() for p, q in zip(net.parameters(), net.parameters()))",
        "(lambda weight, bias: weight.pow(2).sum() + bias.pow(2).sum())(*net.parameters())",
        "nn.utils.parameters_to_vector(net.parameters()).pow(2).sum()",
    ],
)
def test_a_penalty_over_named_parameters_is_walked_again(decay: str) -> None:
    assert safe_titles(PENALTY.format(decay=decay)) == []


def test_both_parameters_of_a_layer_are_tensors() -> None:
    program = PENALTY.format(decay="weight.pow(2).sum() + bias.pow(2).sum()").replace(
        "task =", "weight, bias = net.parameters()\ntask ="
    )
    assert safe_titles(program) == []

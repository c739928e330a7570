"""Two versions of a file are compared by what their runs come to."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.analysis.health import health_of
from graphfix.autograd.health import Health
from graphfix.source.document import Document

SETUP = "import torch\nnet = torch.nn.Linear(3, 1)\nx = torch.ones(2, 3)\nloss = net(x).pow(2).sum()\n"


def health(text: str) -> Health:
    return health_of(Explorer(Document("train.py", SETUP + text), (Path("."),)).explore())


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("loss.backward()\n", "loss.detach().backward()\n", "a backward() would find no graph"),
        (
            "loss.backward()\n",
            "F.mse_loss(x, y).requires_grad_().backward()\n",
            "a backward pass would reach no parameter any more",
        ),
        ("loss.backward()\n", "loss.backward()\nloss.backward()\n", "a backward pass would raise an error that it does not raise now"),
        (
            "total = loss\nprint(total.item())\n",
            "total = loss.item()\nprint(total.item())\n",
            "a number would be used as a tensor",
        ),
        *(
            (f"loss.{ask}\n", f"loss = loss.detach()\nloss.{ask}\n", "a gradient would be asked for of a tensor that requires none")
            for ask in ("register_hook(print)", "retain_grad()")
        ),
        ("x = net.weight\nx.retain_grad()\n", "x = net.weight.detach().requires_grad_()\nx.retain_grad()\n", ""),
        ("loss.backward()\nprint(loss)\n", "loss.backward()\nprint(loss.item())\n", ""),
        ("loss.backward()\nloss.backward()\n", "loss.backward(retain_graph=True)\nloss.backward()\n", ""),
    ],
)
def test_what_is_worse(before: str, after: str, reason: str) -> None:
    assert health(after).worse_than(health(before)) == reason

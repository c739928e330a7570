"""What a run records of numbers that are read, memory that is shared, and gradients that a walk starts with."""

from __future__ import annotations

import pytest

from graphfix.analysis.sharing import memory_of, origin
from graphfix.interpreter.recording import Recording

from .toys import OFFSET, explored

HEAD = "import math\nfrom torch.autograd import Variable\nloss = (w * w).sum()\n"


def recorded(body: str) -> Recording:
    return explored(HEAD + body + "\nloss.item()\n").runs[0].recording


@pytest.mark.parametrize(
    ("body", "how"),
    [
        ("float(loss)", "float"),
        ("int(loss)", "int"),
        ("math.exp(loss)", "math.exp"),
        ("from math import log\nlog(loss)", "math.log"),
        ("loss.tolist()", "tolist"),
    ],
)
def test_numbers_that_are_read(body: str, how: str) -> None:
    assert [read.how for read in recorded(body).numbers] == [how, "item"]


def test_a_shadowed_name_reads_nothing() -> None:
    assert [read.how for read in recorded("def float(t):\n    return t\nfloat(loss)").numbers] == ["item"]


def test_the_grad_mode_of_a_read_is_known() -> None:
    reads = recorded("float(loss)\nwith torch.no_grad():\n    float(loss)").numbers
    assert [read.grad_enabled for read in reads] == [True, False, True]


WRITES = {
    "in place": "v = w.data\nv.mul_(2)",
    "augmented": "v = w.data\nv += 1",
    "an item": "v = w.data\nv[0] = 1.0",
    "a view": "v = w.data\nv.view(2, 2).t().zero_()",
    "a row": "v = w.data\nfor part in v:\n    part.zero_()",
    "out": "v = w.data\ntorch.add(x, x, out=v)",
    "initialised": "v = w.data\nnn.init.zeros_(v)",
    "a variable": "v = Variable(w)\nv.add_(1)",
    "a method of numbers": "v = w.data\nv.apply_(abs)",
    "a module": "v = w.data\nnn.ReLU(inplace=True)(v)",
}


@pytest.mark.parametrize("body", WRITES.values(), ids=WRITES)
def test_a_write_reaches_what_shares_memory(body: str) -> None:
    seen = recorded(body)
    (alias,) = seen.aliases
    assert id(alias.made) in memory_of(value for value, _ in seen.written)
    assert any(origin(value) is alias.source for value, _ in seen.written)


@pytest.mark.parametrize(
    "body", ["v = w.data\ny = v * 2\ny.add_(1)", "v = w.data\nx.add_(1)", "v = w.data\nz = v.clone()\nz.zero_()"]
)
def test_a_write_elsewhere_does_not(body: str) -> None:
    seen = recorded(body)
    (alias,) = seen.aliases
    assert id(alias.made) not in memory_of(value for value, _ in seen.written)


def test_gradients_that_a_walk_starts_with() -> None:
    seen = recorded("loss.backward(torch.ones(1))\n(w * w).sum().backward(gradient=torch.tensor(1.0))\n(w * w).sum().backward()")
    assert [seed.site.lineno - OFFSET for seed in seen.seeds] == [4, 5]

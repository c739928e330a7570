"""Which operands a product saves: torch refuses a write to them, and it is found; what it does not save may be written to."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

SCRIPT = """\
import torch

torch.manual_seed(0)
a, b, c = torch.randn(3, 4, requires_grad=True) * 1, torch.randn(4, 5), torch.randn(3, 5)
d, e = torch.randn(2, 3, 4, requires_grad=True) * 1, torch.randn(2, 4, 5)
v, w = torch.randn(4), torch.randn(3)
out = {made}
{written}.add_(1)
out.sum().backward()
"""
SAVED = [
    ('torch.einsum("ij,jk->ik", a, b)', "b"),
    ('torch.einsum("ij,jk->ik", [a, b])', "b"),
    ('torch.einsum("ij, kj -> ik", c, (b @ torch.randn(5, 5)).add_(a.sum()))', "c"),
    ('torch.einsum("i,ij->j", w, a)', "w"),
    ("torch.addmm(c, a, b)", "b"),
    ("c.addmm(a, b)", "b"),
    ("torch.baddbmm(torch.zeros(2, 3, 5), d, e)", "e"),
    ("torch.addmv(w, a, v)", "v"),
    ("torch.matmul(a, b)", "b"),
]
FREE = [
    ('torch.einsum("ij,jk->ik", a, b)', "c"),
    ('torch.einsum("ij,jk->i", a, b)', "b"),  # summed up first
    ("torch.addmm(c, a, b)", "c"),
    ('torch.einsum("ij->i", a)', "b"),
]
TWICE = """\
import torch
import torch.nn.functional as F

torch.manual_seed(0)
a, b, c = torch.randn(3, 4, requires_grad=True) + 0, torch.randn(4, 5), torch.randn(3, 5)
d, e = torch.randn(2, 3, 4, requires_grad=True) + 0, torch.randn(2, 4, 5)
g = torch.randn(3, 5, requires_grad=True) + 0
v, w = torch.randn(4), torch.randn(3)
loss = {made}.sum()
loss.backward()
loss.backward()
"""
FREED = [
    'torch.einsum("ij,jk->ik", a, b)',
    'torch.einsum("ij,jk->ik", [a, b])',
    'torch.einsum("ij,jk,ik->i", a, b, c)',
    "torch.addmm(c, a, b)",
    "c.addmm(a, b)",
    "torch.baddbmm(torch.zeros(2, 3, 5), d, e)",
    "torch.addcmul(c, g, c)",
    "torch.lerp(g, c, torch.rand(3, 5))",
    "torch.remainder(c, g)",
    "F.dropout(g, 0.5)",
    "F.dropout(g)",
    "torch.dropout(g, 0.5, True)",
]
NOT_FREED = [
    'torch.einsum("ij->i", a)',
    'torch.einsum("ij->i", [a])',
    "torch.addmm(g, a.detach(), b)",
    "g.addmm(a.detach(), b)",
    "torch.addcmul(g, c, c)",
    "torch.lerp(g, c, 0.5)",
    "torch.remainder(g, c)",
    "torch.remainder(g, 2)",
    "F.dropout(g, 0.0)",
    "F.dropout(g, p=0.0)",
    "F.dropout(g, 0.5, False)",
    "F.dropout(g, training=False)",
    "torch.dropout(g, 0.5, False)",
]


def outcome(text: str) -> str:
    try:
        exec(compile(text, "train.py", "exec"), {})
    except RuntimeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("made", "written"), SAVED)
def test_a_write_to_what_is_saved_is_found(made: str, written: str) -> None:
    text = SCRIPT.format(made=made, written=written)
    assert "modified by an inplace operation" in outcome(text)
    assert [finding.code for finding in findings_of(Path("train.py"), text)] == ["GF401"]


@pytest.mark.parametrize(("made", "written"), FREE)
def test_a_write_to_something_else_is_not(made: str, written: str) -> None:
    text = SCRIPT.format(made=made, written=written)
    assert not outcome(text)
    assert findings_of(Path("train.py"), text) == []


@pytest.mark.parametrize("made", FREED)
def test_a_second_walk_of_what_is_freed_is_found(made: str) -> None:
    text = TWICE.format(made=made)
    assert "second time" in outcome(text)
    assert [finding.code for finding in findings_of(Path("train.py"), text)] == ["GF302"]


@pytest.mark.parametrize("made", NOT_FREED)
def test_a_second_walk_of_what_saves_nothing_is_not(made: str) -> None:
    text = TWICE.format(made=made)
    assert not outcome(text)
    assert findings_of(Path("train.py"), text) == []


WRITTEN = """\
import torch
import torch.nn.functional as F

torch.manual_seed(0)
x, y = (torch.rand(3, 5, requires_grad=True) + 1).exp(), torch.rand(3, 5)
{code}
out.sum().backward()
"""


@pytest.mark.parametrize(
    ("code", "is_refused"),
    [
        ("out = F.relu(x, True)", True),
        ("out = F.relu(x, False)", False),
        ("out = F.leaky_relu(x, 0.1, True)", True),
        ("out = torch.nn.Softplus(True)(x)", False),
        ("out = torch.nn.RReLU(0.1, 0.3, True)(x)", True),
        ("out = torch.pow(y, x.cos().add_(1)); y.add_(1)", True),
        ("z = F.conv1d(y[None], torch.ones(1, 3, 1, requires_grad=True)); y.add_(1); out = z", True),
        ("z = torch.mul(x, 2); x = z.cos(); z.add_(1); out = x", True),
        ("z = torch.mul(x, 2) + 1; w = z * 2; z.add_(1); out = w", False),
    ],
)
def test_arguments_say_what_is_written_and_saved(code: str, is_refused: bool) -> None:
    text = WRITTEN.format(code=code)
    assert ("modified by an inplace operation" in outcome(text)) is is_refused
    assert [finding.code for finding in findings_of(Path("train.py"), text)] == ["GF401"] * is_refused

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

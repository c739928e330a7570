"""Methods whose argument gives a shape or a type, and is no part of the graph: on real torch, and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphfix.models.tensor_methods import MODELLED_ON
from graphfix.run.engine import findings_of

PROGRAM = """
import torch
w = torch.ones(2, 3, requires_grad=True)
v = torch.ones(2, 3, requires_grad=True)
one = w.exp()
other = v.exp().{name}(one)
one.sum().backward()
other.sum().backward()
"""


@pytest.mark.parametrize("name", sorted(MODELLED_ON))
def test_it_gets_no_gradient(name: str) -> None:
    w, v = (torch.ones(2, 3, requires_grad=True) for _ in range(2))
    getattr(v.exp(), name)(w.exp()).sum().backward()
    assert w.grad is None and v.grad is not None
    text = PROGRAM.format(name=name)
    exec(compile(text, "program.py", "exec"), {})
    assert [finding.code for finding in findings_of(Path("program.py"), text)] == []

"""Functions of Python that are operators: what they make of a tensor has its graph, on real torch and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import operator
import torch
w = torch.ones(3, 3, requires_grad=True)
h = w.exp()
{made}.sum().backward()
h.sum().backward()
"""
MADE = (
    "pow(h, 2)",
    "pow(2, h)",
    "abs(h)",
    "sum([h, h])",
    "sum([torch.ones(3, 3)], start=h)",
    "sum(h)",
    "max(h[0, 0], h[0, 1])",
    "operator.pow(h, 2)",
    "operator.add(h, 1)",
    "operator.sub(1, h)",
    "operator.mul(2, h)",
    "operator.truediv(h, 3)",
    "operator.matmul(h, torch.ones(3, 3))",
)


@pytest.mark.parametrize("made", MADE)
def test_it_goes_on_with_the_graph(made: str) -> None:
    text = PROGRAM.format(made=made)
    with pytest.raises(RuntimeError, match="second time"):
        exec(compile(text, "program.py", "exec"), {})
    assert [finding.code for finding in findings_of(Path("program.py"), text)] == ["GF301"]

"""`asarray` and `Tensor.new` hand on the graph of the tensor that they are given: on real torch, and in runs and proofs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

KEPT = """\
import torch
from torch import nn

net = nn.Linear(3, 1)
kept = []
for x in torch.randn(9, 5, 3):
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
    kept.append({})
{}
"""


@pytest.mark.parametrize("made", ["torch.asarray(loss)", "x.new(loss)", "loss.new(loss)"])
def test_what_is_kept_has_the_graph(made: str) -> None:
    text = KEPT.format(made, "print(kept[0].item())")
    given: dict[str, object] = {}
    exec(compile(text, "train.py", "exec"), given)
    assert given["kept"][0].requires_grad  # type: ignore[index]
    assert "GF102" in {finding.code for finding in findings_of(Path("train.py"), text)}
    walked = KEPT.format(made, "kept[0].backward()")
    exec(compile(walked, "train.py", "exec"), {})
    safe = [f for f in findings_of(Path("train.py"), walked) if f.fix is not None and f.fix.applicability is Applicability.SAFE]
    assert not safe


@pytest.mark.parametrize("made", ["x.new(2, 3)", "loss.new([1.0, 2.0])", "loss.new_tensor(0.5)", "torch.asarray([1.0])"])
def test_what_is_made_of_numbers_has_none(made: str) -> None:
    assert "GF102" not in {finding.code for finding in findings_of(Path("train.py"), KEPT.format(made, "print(kept)"))}

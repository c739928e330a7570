"""Tensors that an operation is told to put its result into (`out=`): on real torch, and on the tape."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

HEAD = """\
import torch
w = torch.ones(4, requires_grad=True)
x = torch.ones(4)
at = torch.tensor([0, 1])
"""
OVERWRITTEN = {
    "one": "kept = torch.ones(4)\nloss = (w * kept).sum()\ntorch.add(x, 1, out=kept)\nloss.backward()\n",
    "one of two": "most, where = torch.ones(2), torch.ones(2, dtype=torch.long)\nloss = (w[:2] * most).sum()\n"
    "torch.max(x.view(2, 2), 1, out=(most, where))\nloss.backward()\n",
    "what is given back": "kept = torch.ones(4)\nloss = (w * torch.add(x, 1, out=kept)).sum()\nkept.zero_()\nloss.backward()\n",
}
CARRIED = """\
def kept_of(boxes):
    kept = boxes.new(4)
    while len(at) > 0:
        {refill}
        kept = torch.clamp(kept, min=boxes[0])
        if kept.sum() > 2:
            break

for _ in range(3):
    loss = (w * x).sum()
    loss.backward()
kept_of(w * 2)
"""


@pytest.mark.parametrize("program", OVERWRITTEN.values(), ids=OVERWRITTEN)
def test_it_is_written_in_place(program: str) -> None:
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        exec(compile(HEAD + program, "program.py", "exec"), {})
    assert [finding.code for finding in findings_of(Path("program.py"), HEAD + program)] == ["GF401"]


@pytest.mark.parametrize(("refill", "told"), [("torch.add(x, 1, out=kept)", []), ("torch.add(x, 1)", ["GF201"])])
def test_it_carries_nothing_from_iteration_to_iteration(refill: str, told: list[str]) -> None:
    program = HEAD + CARRIED.format(refill=refill)
    assert [f.code for f in findings_of(Path("program.py"), program) if f.code == "GF201"] == told

"""State is detached where it enters an iteration, where nothing there needs its graph and no learned beginning is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.model import Applicability
from graphfix.rewrite import apply_fixes
from graphfix.run.engine import findings_of

torch = pytest.importorskip("torch")

PROGRAM = """\
import torch
from torch import nn

torch.manual_seed(0)
start = {start}
cell, head = nn.{cell}(3, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters(), start], lr=0.1)
h = {first}
for step in range(4):
    {top}
    h = cell(torch.ones(2, 3), h)
    loss = head({out}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PLAIN = {"start": "nn.Parameter(torch.ones(2, 4))", "cell": "RNNCell", "first": "torch.zeros(2, 4)", "out": "h"}
LEARNED = {**PLAIN, "first": "start"}
PAIR = {**LEARNED, "cell": "LSTMCell", "first": "(start, start * 0)", "out": "h[0]"}


def repaired(program: str) -> str:
    """The program with the safe fixes of its findings."""
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        exec(compile(program, "train.py", "exec"), {})
    fixes = [each.fix for each in findings_of(Path("train.py"), program) if each.fix is not None]
    safe = [fix for fix in fixes if fix.applicability is Applicability.SAFE]
    return apply_fixes(program, safe).text


@pytest.mark.parametrize(
    "top",
    [
        "if step:\n        h.register_hook(print)",
        "if step:\n        h.retain_grad()",
        "if step:\n        entered = h\n        entered.retain_grad()",
    ],
)
def test_what_asks_for_the_gradient_of_a_state_is_not_put_behind_its_detach(top: str) -> None:
    program = PROGRAM.format(**PLAIN, top=top)
    assert repaired(program) == program


@pytest.mark.parametrize(
    "top",
    [
        "size = h.grad.norm() if step else 0",
        "if step:\n        print(h.grad)",
        "entered = h\n    if step:\n        print(entered.grad)",
        "if step:\n        print(getattr(h, 'grad'))",
    ],
)
def test_a_gradient_that_a_state_retains_is_read_before_it_is_detached(top: str) -> None:
    program = PROGRAM.format(**PLAIN, top=top).replace("    loss = head(", "    h.retain_grad()\n    loss = head(")
    assert repaired(program) == program


@pytest.mark.parametrize(
    ("shape", "top"), [(PLAIN, "pass"), (PLAIN, "x = start.register_hook(abs)"), (LEARNED, "pass"), (PAIR, "pass")]
)
def test_a_state_is_detached_and_a_learned_beginning_is_trained(shape: dict[str, str], top: str) -> None:
    text = repaired(PROGRAM.format(**shape, top=top))
    names: dict[str, object] = {}
    exec(compile(text, "train.py", "exec"), names)
    assert "detach()" in text
    assert isinstance(start := names["start"], torch.Tensor)
    assert (start != 1).any().item() is (shape is not PLAIN)

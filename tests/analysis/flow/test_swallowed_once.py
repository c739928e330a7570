"""What swallows an error is looked for once for each function, whichever place asks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.analysis.flow import swallowed as module
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.run.engine import _evidence

PROGRAM = """\
import torch

def inner(x):
    y = x.exp()
    return y.log()

def outer(x):
    return inner(x) + inner(x)

def careful(x):
    try:
        return risky(x)
    except RuntimeError:
        return None

def risky(x):
    return x.sin()

net = torch.nn.Linear(2, 2)
loss = outer(net(torch.ones(2))).sum()
loss.backward()
careful(loss)
"""


def test_an_answer_of_a_function_serves_all_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = _evidence(Path("train.py"), PROGRAM, (), NO_CONVENTIONS, {})
    flow, asked = evidence.flow, []
    inside = module.swallowed_inside
    monkeypatch.setattr(module, "swallowed_inside", lambda *given: asked.append(given[1]) or inside(*given))
    calls = {ast.unparse(part): part for part in ast.walk(evidence.program.main.tree) if isinstance(part, ast.Call)}
    assert swallowed(flow, calls["x.exp()"]) is None
    first = len(asked)
    assert swallowed(flow, calls["y.log()"]) is None
    assert len(asked) == first + 1  # the place itself
    assert isinstance(swallowed(flow, calls["x.sin()"]), (ast.ExceptHandler, ast.Try))
    assert swallowed(flow, calls["x.sin()"]) is not None

"""Functions of libraries that travel as values are what they are, wherever they are called."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from graphfix.analysis.flow.flow import flow_of
from graphfix.source.document import Document

HEAD = """
import functools
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.functional import gelu, relu
import thirdparty
kind = input()
x = torch.ones(3)
"""
KNOWN = {
    "an attribute": "class A:\n    def __init__(self):\n        self.act = F.relu if kind else F.gelu\nA().act(x)",
    "imported names": "act = relu if kind else gelu\nact(x)",
    "out of a table": "ACTS = {'relu': F.relu, 'tanh': torch.tanh, 'none': lambda x: x}\nACTS[kind](x)",
    "given by a function": "def act_of(kind):\n    if kind:\n        return F.relu\n    return torch.tanh\nact_of(kind)(x)",
    "handed to a function": "def applied(act, x):\n    return act(x)\napplied(torch.sigmoid, x)",
    "beside a layer": "act = nn.ReLU() if kind else F.relu\nact(x)",
}
UNKNOWN = {
    "of another library": "act = thirdparty.act if kind else F.relu\nact(x)",
    "by a name that is not known": "act = getattr(F, kind)\nact(x)",
    "one that goes backward": "act = torch.autograd.backward if kind else F.relu\nact(x)",
    "one that keeps what it is given": "act = torch.save if kind else F.relu\nact(x)",
}


def opaque_calls(program: str) -> list[str]:
    flow = flow_of(Document("page.py", HEAD + program), lambda name, file: None)
    return [ast.unparse(call) for call in flow.calls.opaque if ast.unparse(call).endswith("(x)")]


@pytest.mark.parametrize("program", KNOWN.values(), ids=KNOWN)
def test_what_only_computes_is_no_code_out_of_sight(program: str) -> None:
    assert opaque_calls(program) == []


@pytest.mark.parametrize("program", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_do_more_stays_unknown(program: str) -> None:
    assert len(opaque_calls(program)) == 1


def test_what_is_computed_is_made_of_what_is_given(tmp_path: Path) -> None:
    program = f"{HEAD}act = F.relu if kind else F.gelu\ny = act(x.exp())\ny.sum().backward()\n"
    document = Document(str(tmp_path / "page.py"), program)
    flow = flow_of(document, lambda name, file: None)
    (exp,) = (part for part in ast.walk(document.tree) if isinstance(part, ast.Call) and ast.unparse(part) == "x.exp()")
    assert "y.sum().backward()" in [ast.unparse(each.site) for each in flow.graph.reach([exp]).arrivals]

"""Values that are made of themselves: each question about them ends, and is answered by all else that they are made of."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.flow.swallowed import may_swallow
from graphfix.codemods.non_leaf_parameter import is_number
from graphfix.interpreter.conventions import NO_CONVENTIONS
from graphfix.obligations.numeric_equivalence import Numbers
from graphfix.obligations.repeated_items import Drawn
from graphfix.run.engine import _evidence

PROGRAM = """
import torch
from torch import nn

net = nn.Linear(3, 1)
n, s, z, k = 0, 1.0, 2, 3
p = torch.ones(1)
xs, ys = [1], [2]
gs = (g for g in xs)
ctx = make()
for x in torch.randn(4, 2, 3):
    n = n + 1
    s = -s
    p = p + 1
    z = s * z
    k = +k - n
    xs = xs + ys
    ys = ys + xs
    gs = gs + xs
    zs = list(zip(xs, ys))
    zs = list(reversed(zs))
    ctx = ctx.wrap()
    with ctx:
        print(n, s, z, k, p, xs, gs, zs, net(x).sum())
"""
QUESTIONS: dict[str, Callable[[Evidence, ast.expr], object]] = {
    "a number without a tensor": lambda evidence, node: Numbers(evidence.flow).is_plain_number(node),
    "a number of 32 bits": lambda evidence, node: Numbers(evidence.flow).fits(node),
    "a length": lambda evidence, node: evidence.flow.has_length(node),
    "each once": lambda evidence, node: Drawn(evidence).gives_each_once(node),
    "an operand": is_number,
    "a context": lambda evidence, node: may_swallow(evidence.flow, node),
}


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return _evidence(Path("train.py"), PROGRAM, (), NO_CONVENTIONS, {})


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_each_question_ends(evidence: Evidence, question: Callable[[Evidence, ast.expr], object]) -> None:
    for node in ast.walk(evidence.program.main.tree):
        if isinstance(node, ast.expr):
            assert question(evidence, node) in (True, False)


@pytest.mark.parametrize(
    ("question", "name", "answer"),
    [
        ("a number without a tensor", "n + 1", True),
        ("a number without a tensor", "p + 1", False),
        ("a number of 32 bits", "-s", True),
        ("a length", "xs", True),
        ("a length", "gs", False),
        ("an operand", "n", True),
        ("an operand", "z", True),
        ("an operand", "p", False),
    ],
)
def test_all_else_decides(evidence: Evidence, question: str, name: str, answer: bool) -> None:
    nodes = [
        node
        for node in ast.walk(evidence.program.main.tree)
        if isinstance(node, ast.expr) and ast.unparse(node) == name and not isinstance(getattr(node, "ctx", None), ast.Store)
    ]
    assert nodes
    assert {QUESTIONS[question](evidence, node) for node in nodes} == {answer}

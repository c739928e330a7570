"""Where values lie in memory decides nothing: what a run has answered for one is not answered for another that came to lie there."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from graphfix.analysis.explore import Explorer
from graphfix.interpreter import expressions
from graphfix.interpreter.interning import forget_keys
from graphfix.interpreter.values import Constant, NonTensor, Sequence, Tensor
from graphfix.run import engine
from graphfix.source.document import Document

HEAD = """
import torch
from torch import nn
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
"""
PROGRAMS = {
    "a check of each loss": """
for i in range(9):
    loss = net(torch.randn(3, 4)).mean()
    if torch.isfinite(loss):
        loss.backward()
""",
    "a check of each loss, which is kept": """
last = None
for i in range(9):
    loss = net(torch.randn(3, 4)).mean()
    if last is not None and torch.isfinite(last):
        last.backward()
    last = loss
""",
    "checks of what ends at once": """
for i in range(9):
    loss = net(torch.randn(3, 4)).mean()
    if torch.isfinite(loss.detach()):
        loss.backward()
    if not torch.isfinite(loss.detach()):
        optimizer.step()
""",
    "checks of what ends at once, in a function": """
def usable(value):
    return torch.isfinite(value.detach()).all()
for x in torch.randn(9, 3, 4):
    loss = net(x).mean()
    if usable(loss):
        loss.backward()
    if usable(x):
        net(x).mean().backward()
""",
    "masks that end at once": """
for x in torch.randn(9, 3, 4):
    if (x > 0).any():
        net(x).sum().backward()
    if (x > 1).any():
        net(x).mean().backward()
    if (x > 2).any():
        optimizer.step()
""",
    "lengths of lists that end": """
for i in range(9):
    losses = [net(x).mean() for x in torch.randn(3, 3, 4)]
    if len(losses) > i:
        sum(losses).backward()
""",
    "objects of a loop": """
class Batch:
    def __init__(self, x):
        self.x = x
    def total(self):
        return net(self.x).sum()
total = 0
for i in range(9):
    batch = Batch(torch.randn(3, 4))
    if batch.x.max() > 1 or batch.total().item() > 3:
        total = total + batch.total()
    if batch.total() > 0:
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
""",
    "modules that are made anew": """
for i in range(9):
    head = nn.Linear(4, 1)
    if head.training and head.weight.grad is None and head.bias.is_sparse:
        head(torch.randn(3, 4)).sum().backward()
    if hasattr(head, "spare"):
        net(head.spare).sum().backward()
""",
    "keys of a mapping that ends": """
for i in range(9):
    found = {}
    for x in torch.randn(3, 3, 4):
        y = net(x)
        found[y] = y
        if y in found and found.get(x) is None:
            y.mean().backward()
""",
}


@contextmanager
def moved(keeps: Callable[[], bool], junk: int) -> Iterator[None]:
    """Let values live longer than the program has them, or others take the places that they leave."""
    kept: list[object] = []
    before = dict(expressions.EXPRESSIONS)

    def wrapped(handler: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(*how: Any) -> Any:
            made = handler(*how)
            if keeps():
                kept.append(made)
            for _ in range(junk):
                kept.append([Constant(0), NonTensor("junk"), Tensor(None), Sequence("list", [])])
                del kept[-2:-1]
            return made

        return evaluate

    expressions.EXPRESSIONS.update({kind: wrapped(handler) for kind, handler in before.items()})
    try:
        yield
    finally:
        expressions.EXPRESSIONS.update(before)


def outcome(program: str) -> object:
    """What the runs of a program have answered, walked and recorded, and what is told of it."""
    tape = Explorer(Document("page.py", HEAD + program), (Path("."),)).explore()
    runs = [
        (
            run.policy.kind,
            [(walk.site.lineno, tuple(number for _, number in walk.context), len(walk.nodes)) for walk in run.recording.walks],
            sorted((site.lineno, site.col_offset, side) for site, side in run.recording.covered),
            len(run.recording.nodes),
        )
        for run in tape.runs
    ]
    tape.let_go()
    forget_keys()
    return runs, engine.analyse(Path("page.py"), HEAD + program).findings


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_runs_do_not_depend_on_addresses(program: str) -> None:
    draw = random.Random(5)
    as_it_is = outcome(program)
    with moved(lambda: True, 0):
        assert outcome(program) == as_it_is, "where nothing ends"
    for junk in (1, 3):
        with moved(lambda: draw.random() < 0.5, junk):
            assert outcome(program) == as_it_is, "where some live on"

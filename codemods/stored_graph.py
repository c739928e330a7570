"""A list, deque, dict or replay memory keeps the graph of every value that is put into it.

## What it does
Finds tensors that are put, with a graph that no later `backward()` uses, into a container that outlives the iteration: histories
of losses, collected outputs, stored experience.
A test does not run for long: in test modules (by name, or because they import pytest or unittest) the finding is optional.

## Why is this bad
Every stored tensor keeps its graph alive: memory grows with every iteration, until it runs out ("CUDA out of memory"). If a stored
value is used in a later loss, that loss includes the old graph, too. If the old graph is freed, the loss's `backward()` raises
"RuntimeError: Trying to backward through the graph a second time"; if an optimizer has changed its parameters, it raises
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".

## Example
```python
history = []
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
```

## Use instead
```python
history = []
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.item())
```

## Fix safety
The fix stores `.item()` if every reader of the container takes a number, and `.detach()` otherwise. It is safe if the stored graph
was freed by its own `backward()`, because a later one through the container would raise, or if graphfix sees every reader and none
calls `backward()` on it. If one value is put into several places by the same method, or also into a list that ends with its function,
that is one finding, and its fix repairs all of them. Log-probabilities and other values that are stored for a later `backward()` are not reported.

## References
- https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.piles import faulty_piles
from graphfix.autograd.symptoms import GROWS, RETAINS, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repair.stored_value import piled_up
from graphfix.verify.expected import CUT


def find(evidence: Evidence) -> Iterator[Finding]:
    told = set()
    for pile in faulty_piles(evidence):
        for finding in evidence.told(piled_up, pile, RULE.finding):
            if finding.span not in told:
                told.add(finding.span)
                yield finding


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    for pile in faulty_piles(evidence):
        yield from pile.expressions


RULE = rule(
    "GF102",
    "stored-graph",
    globals(),
    find,
    cuts=cuts,
    bounded=True,
    repair="Cut the graph of what a list, dict or history keeps.",
    by_hand="store `loss.item()`, or `output.detach()` where a tensor is needed, in `{}`",
    shows=(GROWS, RETAINS, SECOND_WALK),
    results=CUT,
    yields_to=("GF101", "GF103", "GF310", "GF903"),
)

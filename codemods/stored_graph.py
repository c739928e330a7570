"""A list, deque, dict or replay memory keeps the graph of every value that is put into it.

## What it does
Finds tensors that are put into a container which outlives the iteration, with a graph that no later backward pass uses:
histories of losses, collected outputs, stored experience.
A test keeps nothing for long: in modules named like tests, and where pytest or unittest is imported, the finding is optional.

## Why is this bad
Every stored tensor keeps its graph alive, so that memory grows with each iteration. A stored value that is used in a
later loss brings its old graph along: the walk raises, as that graph has been freed or its parameters have been stepped.

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
`.item()` where every reader of the container takes a number, `.detach()` otherwise. Safe where the stored graph was freed by
its own backward pass, as a later walk through the container would raise, or where every reader is in sight and none walks
it. Log-probabilities and the like that are stored to be walked later are left alone.

## References
- https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.piles import faulty_piles
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repairs.put_away import piled_up
from graphfix.verify.expected import CUT
from graphfix.verify.symptoms import GROWS, RETAINS, SECOND_WALK


def find(evidence: Evidence) -> Iterator[Finding]:
    told = set()
    for covered in (False, True):
        for pile in faulty_piles(evidence, covered):
            for finding in evidence.told(piled_up, pile, RULE.finding):
                if finding.span not in told:
                    told.add(finding.span)
                    yield dataclasses.replace(finding, fix=None) if covered else finding  # no_grad is the repair there


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    for pile in faulty_piles(evidence, False):
        yield from pile.expressions


RULE = rule(
    "GF102",
    "stored-graph",
    globals(),
    find,
    cuts=cuts,
    witnessed=True,
    bounded=True,
    repair="Cut the graph of what a list, dict or history keeps.",
    shows=(GROWS, RETAINS, SECOND_WALK),
    results=CUT,
    yields_to=("GF103",),
)

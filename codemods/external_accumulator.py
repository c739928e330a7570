"""`backward()` is called in every iteration on a total of losses that is initialised outside the loop.

## What it does
Finds a total that is initialised before a loop and grows by a loss in each iteration, and on which each iteration calls
`backward()`.

## Why is this bad
In the second iteration the total holds the first iteration's loss, whose graph has been freed: `backward()` raises
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
total_loss = 0
for x, y in loader:
    total_loss += F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    total_loss = 0
    total_loss += F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
```

## Fix safety
The second iteration always raises, so a working run has one iteration, which does not change. The fix is safe if nothing but
`backward()` reads the total. It is unsafe if the loop prints the total or uses it in a condition, because a total over all iterations
may be meant. If the total is read after the loop, as a log, `backward()` is called on the loss instead, and the total is kept as a number.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.old_totals import accumulated
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from accumulated(evidence, evidence.second_backwards, RULE.finding)


RULE = rule(
    "GF204",
    "external-accumulator",
    globals(),
    find,
    repair="Initialise a loss accumulator in the loop that calls backward() on it.",
    by_hand="start with `{} = 0` inside the loop, before losses are added to it",
    shows=(SECOND_WALK,),
    results=Expected("cut", "a total starts anew: its value differs, its gradient does not", losses=False, joins=True),
)

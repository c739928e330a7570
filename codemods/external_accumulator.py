"""`backward()` is called in every iteration on a loss accumulator that is initialised outside of the loop.

## What it does
Finds a total that is set up before a loop, grows by a loss in each iteration, and whose `backward()` is called in each iteration.

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
The second iteration always raises, so a run that worked had one iteration, which does not change. The fix is safe where
nothing reads the total but `backward()`. It is unsafe where the loop shows it, or decides by it: the total may have been meant
to run through all iterations. Where it is read after the loop, as a log, `backward()` is called on the loss, and the total kept
as a number.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repairs.set_up import accumulated
from graphfix.verify.expected import Expected
from graphfix.verify.symptoms import SECOND_WALK


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

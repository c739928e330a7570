"""The `backward()` of every iteration goes through a tensor that was computed before the loop.

## What it does
Finds a non-leaf tensor that is built once outside of a loop from tensors that require grad, and through which the
`backward()` of each iteration goes.

## Why is this bad
The first `backward()` frees the graph of the computation outside of the loop; the second one comes to it again and raises
"RuntimeError: Trying to backward through the graph a second time".
With `retain_graph=True` the value is stale: it never sees what the optimizer changes.

## Example
```python
weights = F.softmax(logits, dim=0)
for x, y in loader:
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    weights = F.softmax(logits, dim=0)
    loss = F.mse_loss(model(x) @ weights, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
The second iteration always raises, so a run that worked had one iteration, in which the moved computation gives the same
value. Safe where nothing that it is moved past may change what it reads (no write, no mode, no code out of sight), parameters
are frozen in no way that is not followed, it is not random and nothing else reads the result; unsafe
where it draws random numbers (one draw for all iterations and one per iteration are different models). Where nothing below
the tensor is trained it is detached instead, and also where all of it is trained by a loss of its own (an advantage that
weighs a policy loss): safe where the gradient that the loop's loss sends there is cleared before any step uses it.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repairs.recompute import external
from graphfix.verify.expected import CUT
from graphfix.verify.symptoms import SECOND_WALK


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from external(evidence, evidence.second_backwards, RULE.finding)


RULE = rule(
    "GF203",
    "external-graph",
    globals(),
    find,
    repair="Move a graph that is built before a loop to where the loop uses it.",
    by_hand="compute `{}` inside the loop, or detach it if its parameters are not to be trained",
    shows=(SECOND_WALK,),
    results=CUT,
    yields_to=("GF205",),
)

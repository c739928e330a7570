"""The `backward()` of every iteration goes through a tensor that was computed before the loop.

## What it does
Finds a non-leaf tensor that is computed once, outside a loop, from tensors that require grad, when the `backward()` of each
iteration goes through it.

## Why is this bad
The first `backward()` frees the graph of that computation; the second one reaches it again and raises
"RuntimeError: Trying to backward through the graph a second time".
With `retain_graph=True` the value is stale: it does not follow what the optimizer changes.

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
The second iteration always raises, so a working run has one iteration, in which the moved computation gives the same value. The fix
is safe if no statement that it moves past can change its inputs (no write, no change of mode, no code that is not analysed), if no
parameter may be frozen in a way that the analysis does not follow, if it draws no random numbers, and if nothing else reads the result.
It is unsafe if it draws random numbers: one draw for all iterations and one draw per iteration are different models.
If the tensor is not computed from trained parameters, it is detached instead. It is also detached if a loss of their own trains all of
its parameters: that is safe if the gradient from the loop's loss is cleared before any step uses it, and unsafe if the tensor only
weighs another loss (an advantage that weighs a policy loss). If no simulated run steps its parameters any more, detaching it is unsafe,
because another run may.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#saved-tensors
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import external
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.verify.expected import CUT


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
    yields_to=("GF102", "GF205"),
)

"""The state of a recurrent model enters the next iteration with its graph.

## What it does
Finds a local variable (a tensor, a tuple such as an LSTM's `(h, c)`, a list or a dict) that holds a graph at the end of an iteration,
when the next iteration's `backward()` goes through that graph.

State that each iteration computes from the previous state is also found if no `backward()` goes through it, provided that its graph is freed
before the next iteration extends it, or that graphfix sees all code that reads it. The cached result of a function (`lru_cache`) that is
computed from parameters counts as state, too; it has no fix.

## Why is this bad
The first `backward()` frees the graph behind the state. The second iteration's loss depends on the state, so its `backward()`
reaches the freed graph and raises
"RuntimeError: Trying to backward through the graph a second time". If the loss of an iteration does not use the new state of the same
iteration (an RNN that returns its output separately from its next state), the third iteration raises.

## Example
```python
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
h = torch.zeros(1, batch, hidden)
for x, y in loader:
    h = h.detach()
    out, h = rnn(x, h)
    loss = F.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
The state is detached once per iteration of the loop that calls `backward()`, at a place where its whole graph is freed. A run whose
`backward()` went through that graph again would have raised, so no working run changes. The fix is unsafe if the graph is still
alive there on some path, because then the detach cuts a gradient. Nothing is detached inside a window of truncated backpropagation.

## References
- https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
- Williams and Peng (1990), An efficient gradient-based algorithm for on-line training of recurrent network trajectories
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.carried import carried
from graphfix.analysis.evidence import Evidence
from graphfix.autograd.symptoms import GROWS, SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repair.dead_state import unwalked
from graphfix.verify.expected import CUT


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from carried(evidence, evidence.second_backwards, False, RULE.finding)
    # without a walk nothing is raised
    yield from (replace(found, symptoms=(GROWS,)) for found in unwalked(evidence, False, RULE.finding))


RULE = rule(
    "GF201",
    "carried-state",
    globals(),
    find,
    repair="Detach state that enters the next iteration with its graph.",
    by_hand="write `{} = {}.detach()` where an iteration begins",
    shows=(SECOND_WALK, WRITTEN_IN_PLACE),
    results=CUT,
    yields_to=("GF101", "GF103", "GF903"),
)

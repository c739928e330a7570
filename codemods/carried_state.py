"""State of a recurrent model crosses from one iteration into the next with its graph.

## What it does
Finds a local variable (a tensor, a tuple such as an LSTM's `(h, c)`, a list or a dict) that an iteration leaves behind
with its graph, and that the next iteration's `backward()` goes through.

State that each iteration makes of the state before is found as well where no `backward()` goes through it: where its graph is freed
before the next iteration adds to it, or where all code that reads it is in sight. What a function whose results are kept
(`lru_cache`) has computed over parameters is state, too; it has no fix.

## Why is this bad
The first `backward()` frees the graph behind the state. The second iteration's loss depends on the state, so that its
`backward()` comes to the freed graph and raises
"RuntimeError: Trying to backward through the graph a second time". Where an iteration's loss does not read the state that it makes,
as that of an RNN whose output stands beside its next state, it is the third iteration that raises.

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
The state is detached once per iteration of the loop that calls `backward()`, where all of its graph has been freed: a run in
which `backward()` went through it again would have raised, so no run that worked changes. It is unsafe where on some path the
graph is still alive there, because then the detach cuts a gradient. Inside of a window of truncated backpropagation nothing is
detached.

## References
- https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
- Williams and Peng (1990), An efficient gradient-based algorithm for on-line training of recurrent network trajectories
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.codemods.base import rule
from graphfix.model import Finding
from graphfix.repairs.detach import carried
from graphfix.repairs.unwalked import unwalked
from graphfix.verify.expected import CUT
from graphfix.verify.symptoms import GROWS, SECOND_WALK, WRITTEN_IN_PLACE


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
    yields_to=("GF101", "GF103"),
)

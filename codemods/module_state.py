"""State that a module or trainer stores on itself brings the graph of one iteration into the next.

## What it does
Finds an attribute (`self.hidden`, running statistics, memories) that holds a graph at the end of an iteration, when the next
iteration's `backward()` goes through that graph.

## Why is this bad
The attribute outlives the iteration, and so does its graph. The first `backward()` frees that graph; the next one reaches it again
and raises
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 8), nn.Linear(8, 4)
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.head(out)

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 8), nn.Linear(8, 4)
        self.hidden = None

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.head(out)

model = Tagger()
optimizer = torch.optim.Adam(model.parameters())
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    model.hidden = tuple(h.detach() for h in model.hidden)
    optimizer.step()
```

## Fix safety
As for carried-state: the attribute is detached in the loop that calls `backward()`, at a place where its whole graph is freed, so
no working run changes. If samples are independent, a fresh state for each sample may be better; the fix does not make that choice.
If the program resets the state in a loop over `net.children()` or `net._modules.values()`, which leaves out nested modules, the fix
lets that loop go through `net.modules()`; it is unsafe, because some modules may be meant to keep their state.
If the loop is outside the analysed code, as that of a `LightningModule` is, the value is detached where it is stored, if the same
iteration needs no gradient through it. That fix is unsafe: the loop may call `backward()` on several iterations at once.

## References
- https://pytorch.org/docs/stable/notes/autograd.html
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
    yield from carried(evidence, evidence.second_backwards, True, RULE.finding)
    # without a walk nothing is raised
    yield from (replace(found, symptoms=(GROWS,)) for found in unwalked(evidence, True, RULE.finding))


RULE = rule(
    "GF202",
    "module-state",
    globals(),
    find,
    repair="Detach state that a module keeps from one iteration to the next.",
    by_hand="detach `{}` where it is stored, or after the backward() that frees its graph",
    shows=(SECOND_WALK, WRITTEN_IN_PLACE),
    results=CUT,
    yields_to=("GF101", "GF103", "GF903"),
)

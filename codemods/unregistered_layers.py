"""Layers in a plain list are no part of their module, and no optimizer trains them.

## What it does
Finds an attribute of a module that holds layers in a plain list, where the optimizer is given the module's `parameters()`, and backward
passes reach the layers.

## Why is this bad
A module registers what `nn.ModuleList` holds, not what a list holds: `parameters()`, `to()`, `train()` and `state_dict()` pass the layers
over. Their gradients come, but nothing steps them, so that they stay as they were made, without an error.

## Example
```python
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(3)]
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)

model = Stack()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.head(x)

model = Stack()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: the layers are trained from then on, which is what they are for, and files that were saved before do not have them. Layers that
the list is given, and does not make, are left alone: they may be hidden on purpose.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import about
from graphfix.analysis.unregistered_layers import PlainLayers, unregistered_layers
from graphfix.autograd.symptoms import UNTRAINED
from graphfix.codemods.base import rule
from graphfix.model import Finding, NoFix, Severity, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    for plain in unregistered_layers(evidence):
        yield from evidence.told(report, plain)


def report(evidence: Evidence, plain: PlainLayers) -> Finding:
    program, optimizer = evidence.program, plain.optimizer
    name = short(program.source(plain.statement.targets[0]), 30)
    story = (
        evidence.label(plain.statement, "a plain list registers none of the layers in it"),
        evidence.label(optimizer.site, "so this optimizer does not get their parameters"),
    )
    message = f"no optimizer gets the layers in `{name}`"
    span = program.span(plain.statement)
    unfixed = NoFix("`torch.nn` is not imported in this file")
    return RULE.finding(evidence, message, span, in_time(*story), unfixed, subject=about(plain.statement), shown_by=optimizer)


RULE = rule(
    "GF315",
    "unregistered-layers",
    globals(),
    find,
    repair="Keep layers in a `ModuleList`, so that they are trained.",
    by_hand="put the layers of `{}` into `nn.ModuleList`",
    shows=(UNTRAINED,),
    severity=Severity.WARNING,
    results=Expected("train", reason="the layers are trained now"),
)

"""An evaluation builds graphs that no backward pass ever walks.

## What it does
Finds loops and functions that run forward passes over parameters, in which nothing asks for a gradient and out of which no graph
gets to a backward pass: validation, testing, sampling and rollouts without `torch.no_grad()`.
A test builds what is gone when it ends: in test modules of pytest the finding is optional.

## Why is this bad
Each forward pass keeps all of its activations for a backward pass that never comes. What the loop adds up, collects or carries
keeps the graphs of all iterations alive, up to running out of memory. `model.eval()` does not stop the recording.

## Example
```python
def evaluate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total / len(loader)

print(evaluate(model, loader))
```

## Use instead
```python
@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total / len(loader)

print(evaluate(model, loader))
```

## Fix safety
Safe where all code of the evaluation is in sight and runs in the simulation: nothing in it can want a gradient, and what it
computes does not depend on grad mode. Unsafe where a module or function that is not in sight is called, as one that uses
`torch.autograd.grad` inside would fail, and where a transformer layer would take its fast path, which rounds differently. A
forward pass in training mode that is no loop, and one next to the walks of the same iteration, are left alone.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evaluations import Region
from graphfix.analysis.evidence import Evidence
from graphfix.codemods.base import rule
from graphfix.model import Decorate, Finding, Fix, Label, Operation, Severity, Wrap
from graphfix.repairs.fixes import fix, safe_if, short
from graphfix.verify.symptoms import MAKES_MORE, SECOND_WALK


def find(evidence: Evidence) -> Iterator[Finding]:
    for region in evidence.regions.found:
        yield report(evidence, region)


def report(evidence: Evidence, region: Region) -> Finding:
    function = region.function
    name = short(function.name if function is not None else ast.unparse(region.parts[0]).splitlines()[0].rstrip(":"))
    blamed = min((statement for _, statement in region.forwards), key=lambda statement: statement.lineno)
    story = [evidence.label(blamed, "records a graph that no backward pass walks"), *mode(evidence, region)]
    message = f"`{name}` builds graphs that nobody walks"
    return RULE.finding(evidence, message, evidence.span(blamed), story, repair_of(evidence, region))


def mode(evidence: Evidence, region: Region) -> Iterator[Label]:
    """Where the module was put into evaluation mode, if that is in the region or beside it."""
    if not region.evaluates:
        return
    for run in evidence.tape.runs:
        for event in run.recording.modes:
            if event.training is False and evidence.holds(event.site):
                yield evidence.label(event.site, "evaluation mode does not stop the recording")
                return


def repair_of(evidence: Evidence, region: Region) -> Fix | None:
    torch = evidence.regions.torch
    if torch is None:
        return None
    function = region.function
    operation: Operation
    if function is not None:
        operation = Decorate(evidence.span(function), f"{torch}.no_grad()")
        title = f"run `{short(function.name)}` under no_grad"
    else:
        operation = Wrap(tuple(evidence.span(part) for part in region.parts), f"with {torch}.no_grad():")
        title = "run it under no_grad"
    return fix(safe_if(region.sure), title, operation)


RULE = rule(
    "GF103",
    "graph-in-evaluation",
    globals(),
    find,
    bounded=True,
    repair="Run evaluations under torch.no_grad().",
    shows=(MAKES_MORE, SECOND_WALK),
    severity=Severity.WARNING,
)

"""An evaluation records graphs that no `backward()` ever uses.

## What it does
Finds loops and functions that run forward passes on parameters although nothing needs a gradient and no graph reaches a
`backward()`: validation, testing, sampling and rollouts without `torch.no_grad()`. It also finds lists that keep such outputs until only
their numbers are used, and forward passes in training code whose results are only used as detached values, numbers or indices (a target
network, a printed score, a chosen action), unless they are detached at once. If training and evaluation share a loop
(`if training: loss.backward()`), its forward pass is reported because it also records in evaluation mode. In a file without any
`backward()`, a loop that reads numbers from the output of a module is an evaluation.
Code that the whole project calls under `no_grad` is not reported, nor is code in a context that needs gradients. Where a function hands its
graphs on, and others also call it, the caller that evaluates is reported. A loss whose `backward()`
is missing before a step is reported by GF309.
A test does not run for long: in test modules (by name, or because they import pytest or unittest) the finding is optional.

## Why is this bad
Each forward pass keeps all of its activations for a `backward()` that never comes: wasted time and memory. If the loop adds up or
collects results, or uses the results of earlier iterations, the graphs of all iterations stay alive: memory grows with every iteration,
until it runs out ("CUDA out of memory"). `model.eval()` does not turn off the recording.

## Example
```python
def evaluate(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        total += F.mse_loss(model(x), y)
    return total / len(loader)

print(f"{evaluate(model, loader):.4f}")
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

print(f"{evaluate(model, loader):.4f}")
```

## Fix safety
The fix is safe if graphfix sees all code of the evaluation and simulates all of it: then nothing in it can need a gradient, and its
results do not depend on grad mode. It is unsafe if the evaluation calls a module or function that is not analysed, because code that uses
`torch.autograd.grad` inside would fail. It is also unsafe if torch uses another implementation when nothing is recorded, which rounds
differently or warns: the fast path of transformer layers, `nn.LSTM`, attention kernels, products with computed factors, singular values
alone, checkpoints; and if the text of an output is printed or kept (`print(outputs)`), because that names its `grad_fn`. A loss that is
only printed is shown for its number, with which `f"{loss:.4f}"` is the same.
In a loop the fix wraps the statements that record alone, or the innermost loop whose whole body does. The block
begins at the first of the statements right before the forward pass that record for it alone.
Totals, containers and states that keep the graphs of an evaluation are part of this finding, and not reported by themselves, as far
as the fix also ends them. A graph from before the evaluation that it keeps is a fault of its own.
A forward pass that runs only once is an optional finding: it is reported if `--select` names this rule. One that is detached in the
same statement is not reported, except for numpy, which takes no graphs. A forward pass that training shares gets an unsafe fix that
records it in training mode only. `@torch.no_grad()` is placed below existing decorators, because above `@property` or a registration
it would have no effect; it is placed above decorators that compile the function's source.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evaluations import regions
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.mended import evaluation
from graphfix.analysis.passes_in_both_modes import passes_in_both_modes
from graphfix.analysis.region import Region
from graphfix.analysis.unrecorded_callers import called_unrecorded, may_be_unrecorded
from graphfix.autograd.symptoms import MAKES_MORE, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding, Severity
from graphfix.repair.fixes import fix
from graphfix.repair.no_grad import (
    doubt_of,
    doubted_at,
    evaluation_mode,
    no_grad_around,
    recorded_in_training,
    story_of,
    unnamed,
)
from graphfix.source.quote import short

NAME = 37  # characters: a message has less than 80


def find(evidence: Evidence) -> Iterator[Finding]:
    for region in regions(evidence).found:
        around = evidence.program.enclosing(region.first, (ast.FunctionDef, ast.AsyncFunctionDef))
        if around is None or not called_unrecorded(evidence, around):
            yield report(evidence, region)
    for statement, module in passes_in_both_modes(evidence):
        around = evidence.program.enclosing(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        if around is None or not may_be_unrecorded(evidence, around):
            yield evaluated(evidence, statement, module)


def evaluated(evidence: Evidence, statement: ast.stmt, module: ast.expr | None) -> Finding:
    """A forward pass that training shares: it has to record in training mode, and only then."""
    name = short(ast.unparse(module or statement))
    story = (
        evidence.label(statement, "records a graph in both modes, but backward() uses only those of training mode"),
        *evaluation_mode(evidence),
    )
    message = f"`{name}` records a graph in evaluation mode that no backward() uses"
    repair = recorded_in_training(evidence, statement, module)
    return RULE.finding(evidence, message, evidence.program.span(statement), story, repair)


def report(evidence: Evidence, region: Region) -> Finding:
    function = region.function
    name = short(function.name if function is not None else ast.unparse(region.parts[0]).splitlines()[0].rstrip(":"), NAME)
    around = no_grad_around(evidence, region)
    repair = fix(around[0], *around[1], doubt=doubt_of(region)) if around is not None else unnamed(evidence, region.first)
    message = f"`{name}` records a graph that no backward() uses"
    story = [*story_of(evidence, region), *(doubted_at(evidence, region) if around is not None else ())]
    subject = evaluation(evidence, region)
    return RULE.finding(
        evidence, message, evidence.program.span(region.first), story, repair, optional=region.once, subject=subject
    )


RULE = rule(
    "GF103",
    "graph-in-evaluation",
    globals(),
    find,
    bounded=True,
    repair="Run evaluations under torch.no_grad().",
    by_hand="put `with torch.no_grad():` around `{}`, or `@torch.no_grad()` above it where it is a function",
    shows=(MAKES_MORE, SECOND_WALK),
    severity=Severity.WARNING,
    yields_to=("GF309", "GF310", "GF903"),
)

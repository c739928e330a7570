"""Parameters are passed by in training: no optimizer has them, or the loss is computed without recording them.

## What it does
Finds layers that get gradients from the loss which the optimizer steps for, while no optimizer is given their parameters; and parameters that
an optimizer has, where the loss only knows what code under `no_grad` has made of them. What is frozen, in evaluation mode, loaded from a file, handed
to code that graphfix does not analyse, or trained in another way is left alone.

## Why is this bad
Nothing raises, and the loss may even fall, but these parameters stay as they were made: the model learns around random numbers.

## Example
```python
model, projection = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(projection(model(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
model, projection = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*model.parameters(), *projection.parameters()], lr=0.1)
for x, y in loader:
    loss = F.mse_loss(projection(model(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: the parameters are trained from then on. A layer that has a name where the only optimizer is made is given to it. There is no fix
for what is read without recording: the code does not show which part of it is to be recorded.

## References
- https://docs.pytorch.org/docs/stable/optim.html#constructing-it
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import about
from graphfix.analysis.untrained import Untrained, untrained
from graphfix.autograd.symptoms import UNTRAINED
from graphfix.codemods.base import rule
from graphfix.model import Finding, Fix, NoFix, Severity, in_time
from graphfix.repair.given_too import given_too
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

UNRECORDED = "the code under no_grad may be meant to stay as it is"
NAMELESS = "the code does not show which optimizer is to have it"


def find(evidence: Evidence) -> Iterator[Finding]:
    told: set[tuple[ast.AST, str]] = set()
    for each in untrained(evidence):
        statement = evidence.program.statement_of(each.made)
        place = (statement, ast.unparse(named_by(statement, each.made)))
        if place not in told:
            told.add(place)
            yield from evidence.told(report, each)


def named_by(statement: ast.stmt, made: ast.AST) -> ast.AST:
    """What is assigned a new layer; the layer itself where it has no name of its own."""
    if not isinstance(statement, ast.Assign) or is_called_at_once(statement, made):
        return made
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((name for name, part in zip(target.elts, value.elts, strict=True) if made in subtree(part)), target)
    return target


def is_called_at_once(statement: ast.stmt, made: ast.AST) -> bool:
    """Whether a layer is used where it is made, and gone then: `nn.LayerNorm(8)(x)`."""
    return any(isinstance(part, ast.Call) and part.func is made for part in subtree(statement))


def report(evidence: Evidence, each: Untrained) -> Finding:
    program = evidence.program
    statement = program.statement_of(each.made)
    target = named_by(statement, each.made)
    name = short(program.source(target), 30)
    story = [evidence.label(each.made, "nothing trains this")]
    if each.read is not None and program.holds(each.read):
        story.append(evidence.label(each.read, "this reads it without recording a graph"))
    if program.holds(each.walk.site):
        to = "gives it gradients" if each.read is None else "gives it no gradient"
        story.append(evidence.label(each.walk.site, f"this backward() {to}"))
    if program.holds(each.step.site):
        what = "changes other parameters" if each.read is None else "leaves it as it is"
        story.append(evidence.label(each.step.site, f"this step {what}"))
    repair: Fix | NoFix = NoFix(UNRECORDED)
    message = f"the loss does not train `{name}`, which an optimizer has"
    if each.read is None:
        message = f"no optimizer has `{name}`, which gets gradients"
        made = given_too(evidence, each, target)
        repair = made if made is not None else NoFix(NAMELESS)
    finding = RULE.finding(evidence, message, program.span(statement), in_time(*story), repair, subject=about(each.made))
    if each.read is not None:
        return replace(finding, by_hand=f"read `{name}` where operations are recorded, or leave it out of the optimizer")
    if is_called_at_once(statement, each.made):
        return replace(finding, by_hand=f"make `{name}` once, where its module is made, so that `parameters()` gives its own")
    return finding


RULE = rule(
    "GF316",
    "untrained-parameters",
    globals(),
    find,
    repair="Give an optimizer the parameters that it is to train.",
    by_hand="give the parameters of `{}` to the optimizer, or tell them that they need no gradient",
    shows=(UNTRAINED,),
    severity=Severity.WARNING,
    results=Expected("train", reason="the parameters are trained now"),
    yields_to=("GF103", "GF310", "GF315"),
)

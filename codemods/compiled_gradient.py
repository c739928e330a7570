"""A gradient of compiled code is gone through backward.

## What it does
Finds gradients that `torch.autograd.grad(..., create_graph=True)` records of what a compiled module or function has computed, and that a
later `backward()` goes through: a gradient penalty, forces as the gradient of an energy, a physics-informed loss.

## Why is this bad
`torch.compile` compiles the backward pass, too, and gives it no derivative. torch raises
"RuntimeError: torch.compile with aot_autograd does not currently support double backward", or speaks of donated buffers.

## Example
```python
critic = torch.compile(critic)
for real, fake in loader:
    mixed = (0.5 * real + 0.5 * fake).requires_grad_()
    (grad,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    loss = (grad.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
for real, fake in loader:
    mixed = (0.5 * real + 0.5 * fake).requires_grad_()
    (grad,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    loss = (grad.norm(dim=1) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: runs that need no second derivative are no longer compiled, either.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.compile.html
- https://docs.pytorch.org/tutorials/intermediate/torch_compile_tutorial.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.compiled_gradients import CompiledGradient, compiled_gradients
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import about
from graphfix.autograd.symptoms import COMPILED
from graphfix.codemods.base import rule
from graphfix.model import Delete, Finding, Fix, Ground, NoFix, Replace, in_time
from graphfix.repair.fixes import fix
from graphfix.source.quote import short
from graphfix.verify.expected import Expected

SLOWER = "every run is slower then, and rounds otherwise"


def find(evidence: Evidence) -> Iterator[Finding]:
    for each in compiled_gradients(evidence):
        yield from evidence.told(report, each)


def report(evidence: Evidence, each: CompiledGradient) -> Finding:
    program, made = evidence.program, each.call.compiled_at
    story = [evidence.label(made, "this compiles the backward pass, which has no derivative then")]
    for place, what in (
        (each.records.site, "this records a graph of its gradients"),
        (each.walk.site, "this backward() goes through that graph and raises"),
    ):
        if program.holds(place):
            story.append(evidence.label(place, what))
    message = f"gradients of what `{short(program.source(made), 28)}` compiles are differentiated"
    span = program.span(program.statement_of(made))
    return RULE.finding(evidence, message, span, in_time(*story), repair_of(evidence, made), subject=about(made, each.walk.site))


def repair_of(evidence: Evidence, made: ast.AST) -> Fix | NoFix:
    """The module itself where it is compiled."""
    program = evidence.program
    statement = program.statement_of(made)
    if not isinstance(made, ast.Call) or statement is made:
        return NoFix("it is compiled by a decorator")
    title = "leave it uncompiled"
    if isinstance(statement, ast.Expr) and statement.value is made:
        return fix(title, Delete(program.span(statement)), ground=Ground.RAISES, doubt=SLOWER)
    given = made.args[0] if made.args and not isinstance(made.args[0], ast.Starred) else None
    if given is None:
        return NoFix("it is compiled by a decorator")
    text = program.source(given)
    if isinstance(statement, ast.Assign) and statement.value is made and [program.source(target) for target in statement.targets] == [text]:
        return fix(title, Delete(program.span(statement)), ground=Ground.RAISES, doubt=SLOWER)
    return fix(title, Replace(program.span(made), text), ground=Ground.RAISES, doubt=SLOWER)


RULE = rule(
    "GF318",
    "compiled-gradient",
    globals(),
    find,
    repair="Leave uncompiled what has its gradients differentiated.",
    by_hand="leave `{}` out, or compile the parts only that no gradient of a gradient goes through",
    shows=(COMPILED,),
    results=Expected(reason="the original ends at the second backward pass", strict=True),
)

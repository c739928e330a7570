"""The gradient of a tensor is read that keeps none, as it is not a leaf.

## What it does
Finds a read of `x.grad` behind `backward()` where `x` is the result of an operation: torch puts gradients into leaves alone. Most often
the leaf is what `x` was moved or scaled from: `x = torch.rand(4, requires_grad=True).to(device)`. A tensor that was told to retain its
gradient is left alone, as is a program that sets gradients itself.

## Why is this bad
`x.grad` is None, and torch only warns: "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed". A `.to(device)` that
has nothing to move gives the leaf itself, so that the program works on one machine and not on another.

## Example
```python
x = torch.rand(4, 8, requires_grad=True).to(device)
model(x).sum().backward()
print(x.grad)
```

## Use instead
```python
x = torch.rand(4, 8).to(device).requires_grad_()
model(x).sum().backward()
print(x.grad)
```

## Fix safety
Never safe: who reads the gradient gets one from then on. Where the tensor is made of one that is told to require grad in the same
expression, the result is told instead; else the tensor is told to retain its gradient where it gets its name.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
- https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import Subject
from graphfix.analysis.unkept_gradients import UnkeptGradient, unkept_gradients
from graphfix.autograd.symptoms import NO_LEAF
from graphfix.codemods.base import rule
from graphfix.model import Append, Finding, Fix, Ground, InsertAfter, NoFix, RemoveArgument, Severity, in_time
from graphfix.repair.fixes import fix
from graphfix.source.quote import short
from graphfix.verify.expected import Expected

ASKED = "who reads the gradient gets one from then on"


def find(evidence: Evidence) -> Iterator[Finding]:
    for each in unkept_gradients(evidence):
        yield from evidence.told(report, each)


def report(evidence: Evidence, each: UnkeptGradient) -> Finding:
    program, made = evidence.program, each.read.node.site if each.read.node is not None else each.read.site
    name = short(program.source(each.read.site.value), 30)
    when = "where there is anything to move or convert" if each.may_be_leaf else "then"
    story = [evidence.label(made, f"this makes `{name}`, which is not a leaf {when}")] if program.holds(made) else []
    if program.holds(each.walk.site):
        story.append(evidence.label(each.walk.site, "this backward() keeps no gradient there"))
    story.append(evidence.label(each.read.site, "this reads a gradient that is not there"))
    subject = Subject(about=frozenset([each.read.site]))
    span = program.span(program.statement_of(each.read.site))
    message = f"`{name}` {'may keep no gradient, as it may not be a leaf' if each.may_be_leaf else 'keeps no gradient, as it is not a leaf'}"
    return RULE.finding(evidence, message, span, in_time(*story), repair_of(evidence, each, made), subject=subject)


def repair_of(evidence: Evidence, each: UnkeptGradient, made: ast.AST) -> Fix | NoFix:
    """The tensor itself told to require grad, in the place of what it is made of; or told to keep its gradient where it gets its name."""
    program = evidence.program
    told = told_to_require(made)
    if told is not None and program.holds(made):
        edits = (RemoveArgument(program.span(told), "requires_grad"), Append(program.span(made), ".requires_grad_()"))
        return fix("let the result require grad", *edits, ground=Ground.RAISES, doubt=ASKED)
    statement = program.statement_of(made) if program.holds(made) else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is made and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name) or statement is None:
        return NoFix("the tensor has no name where it is made")
    return fix(f"let `{target.id}` retain its gradient", InsertAfter(program.span(statement), f"{target.id}.retain_grad()"), ground=Ground.RAISES, doubt=ASKED)


def told_to_require(made: ast.AST) -> ast.Call | None:
    """The call by which an expression begins, where that is told to require grad: `torch.rand(4, requires_grad=True)`."""
    part = made
    while isinstance(part, ast.Call):
        flags = [keyword.value for keyword in part.keywords if keyword.arg == "requires_grad"]
        if any(isinstance(flag, ast.Constant) and flag.value is True for flag in flags):
            return part if part is not made else None
        part = part.func.value if isinstance(part.func, ast.Attribute) else part.func
    return None


RULE = rule(
    "GF317",
    "unkept-gradient",
    globals(),
    find,
    repair="Read the gradient of a leaf, or let the tensor retain its own.",
    by_hand="call `retain_grad()` on `{}` before `backward()`, or read the gradient of the leaf that it is made of",
    shows=(NO_LEAF,),
    severity=Severity.WARNING,
    results=Expected(reason="the original reads no gradient", losses=False),
    yields_to=("GF310",),
)

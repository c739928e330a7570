"""An optimizer steps, but no `backward()` was called on the loss that was computed for it.

## What it does
Finds losses that are computed from an optimizer's parameters between its `zero_grad()` and its `step()`, and that no `backward()`
uses in any run. Either nothing else leaves a gradient in these parameters before the step, or only a gradient penalty does (computed
from the result of `autograd.grad`), and the loss that it belongs to is left out. A value that is computed next to a trained loss
is not reported, nor is a step that gets its gradients by hand, from code that is not analysed, or in some iterations only.

## Why is this bad
There is no error: the step skips parameters without a gradient, or follows the penalty alone. The program finishes, prints
losses, and has not learned what it should.

## Example
```python
for x, y in loader:
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: with `loss.backward()` before the step, the parameters are trained as they were not before, and `graphfix verify`
reports that the numbers of a script change. There is no fix if several losses come before one step, or if the step does not
follow the loss in the same block. A loss that is only printed does not belong between `zero_grad()` and `step()`: compute
it under `torch.no_grad()`.

## References
- https://pytorch.org/docs/stable/optim.html#taking-an-optimization-step
- https://pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.missing_backwards import MissingBackward, missing_backwards
from graphfix.analysis.subject import explaining
from graphfix.autograd.symptoms import UNWALKED
from graphfix.codemods.base import rule
from graphfix.model import Finding, Fix, InsertBefore, NoFix, Severity, in_time
from graphfix.repair.fixes import fix
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    for missing in missing_backwards(evidence):
        yield report(evidence, missing)


def report(evidence: Evidence, missing: MissingBackward) -> Finding:
    name = short(ast.unparse(missing.store.target), 20)
    alone = missing.penalties[0].site if missing.penalties else None
    steps = "follows" if alone is not None else "this step finds no gradients and changes no parameters"
    if alone is not None:
        steps += f" `{short(ast.unparse(alone))}` alone"
    events = (
        (missing.clear.site, "this clears the gradients"),
        (missing.store.site, "this loss is computed from the parameters, but no backward() uses it"),
        (missing.step.site, steps),
    )
    story = in_time(*(evidence.label(site, message) for site, message in events if evidence.program.holds(site)))
    message = f"`{name}` trains nothing: no backward() uses it before the step"
    severity = Severity.WARNING if missing.penalties else None
    blamed = evidence.blamed(missing.store.site)
    repair = walked_before_step(evidence, missing)
    meant = explaining(node.way for node in missing.nodes)  # what is to be used
    return RULE.finding(evidence, message, blamed, story, repair, severity=severity, subject=meant)


def walked_before_step(evidence: Evidence, missing: MissingBackward) -> Fix | NoFix:
    """`loss.backward()` in front of the step, where the name is there and means that loss."""
    program, target, site = evidence.program, missing.store.target, missing.step.site
    assert isinstance(site, ast.Call)
    if missing.losses > 1:
        return NoFix("several losses come before this step, and the code does not show which one is meant")
    if site.args or site.keywords:
        return NoFix("the step goes through a wrapper such as a gradient scaler, which may need a backward() of its own")
    step = program.statement_of(site)
    block = program.block_of(step)
    made = program.statement_of(missing.store.site)
    if not isinstance(target, (ast.Name, ast.Attribute)) or made not in block or not isinstance(step, ast.Expr):
        return NoFix("the step does not follow the loss in the same block")
    name = ast.unparse(target)
    between = block[block.index(made) + 1 : block.index(step)]
    if any(is_bound(part, name) for statement in between for part in subtree(statement)):
        return NoFix(f"`{name}` is assigned again before the step")
    title = f"call `{name}.backward()` before the step"
    return fix(
        title,
        InsertBefore(evidence.program.span(step), f"{name}.backward()"),
        doubt="the loss is trained from now on, which changes the results",
    )


def is_bound(part: ast.AST, name: str) -> bool:
    """Whether a name, or an attribute, gets or loses its value here."""
    return isinstance(part, (ast.Name, ast.Attribute)) and not isinstance(part.ctx, ast.Load) and ast.unparse(part) == name


RULE = rule(
    "GF309",
    "missing-backward",
    globals(),
    find,
    repair="Call backward() on the loss before the step.",
    by_hand="call `{}.backward()` before the step",
    shows=(UNWALKED,),
    results=Expected("walk", reason="a backward pass that the original leaves out", joins=True),
)

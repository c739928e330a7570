"""A loss accumulator that is initialised outside of the loop is walked in every iteration.

## What it does
Finds a total that is set up before a loop, grows by a loss in each iteration, and whose `backward()` is called in each iteration.

## Why is this bad
In the second iteration the total holds the first iteration's loss, whose graph has been freed: the walk raises "Trying to backward
through the graph a second time".

## Example
```python
total_loss = 0
for x, y in loader:
    total_loss += F.mse_loss(model(x), y)
    optimizer.zero_grad()
    total_loss.backward()
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    total_loss = 0
    total_loss += F.mse_loss(model(x), y)
```

## Fix safety
The second iteration always raises, so a run that worked had one iteration, which does not change. The fix is safe where
nothing reads the total outside of the loop; where the total is also read afterwards, as a log, no fix is made: the loss has to
be walked and the total kept as a number.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondWalk
from graphfix.codemods.base import rule
from graphfix.codemods.external_graph import names_read_outside
from graphfix.model import Append, Applicability, Finding, Fix, Move, Replace
from graphfix.repairs.fixes import fix, short


def find(evidence: Evidence) -> Iterator[Finding]:
    yield from accumulated(evidence, evidence.second_walks)


def accumulated(evidence: Evidence, walks: list[SecondWalk]) -> Iterator[Finding]:
    """A finding for each total that still holds earlier iterations when it is walked."""
    done: set[tuple[ast.AST, str]] = set()
    for walk in walks:
        if walk.cause is not Cause.TOTAL or not evidence.holds(walk.walk.site):
            continue
        for name in walk.carriers:
            if (walk.walk.site, name) in done:
                continue
            done.add((walk.walk.site, name))
            yield report(evidence, walk, name)


def report(evidence: Evidence, walk: SecondWalk, name: str) -> Finding:
    initial = initialiser(evidence, walk, name)
    blamed: ast.stmt = evidence.program.statement_of(walk.walk.site)
    story = [evidence.label(walk.walk.site, f"iteration 2 walks the loss of iteration 1 again, as part of `{short(name, 20)}`")]
    if initial is not None:
        story.insert(0, evidence.label(initial, "set up once, outside of the loop"))
    repair = repair_of(evidence, walk, name, initial) if initial is not None and walk.always else None
    if initial is not None and repair is not None and isinstance(repair.operations[0], Move):
        blamed = initial
    message = f"`{short(name)}` still holds the losses of earlier iterations when it is walked"
    return Finding("GF204", "external-accumulator", message, evidence.program.path, evidence.span(blamed), tuple(story), repair)


def initialiser(evidence: Evidence, walk: SecondWalk, name: str) -> ast.Assign | None:
    """The single plain assignment to `name` outside of the loop, in the loop's function."""
    if walk.loop is None or not evidence.holds(walk.loop):
        return None
    scope = evidence.program.enclosing(walk.loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree
    inside = set(ast.walk(walk.loop))
    found = [
        part for part in ast.walk(scope)
        if isinstance(part, ast.Assign) and part not in inside and len(part.targets) == 1
        and isinstance(part.targets[0], ast.Name) and part.targets[0].id == name
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def repair_of(evidence: Evidence, walk: SecondWalk, name: str, initial: ast.Assign) -> Fix | None:
    loop = walk.loop
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
        return None
    scope = evidence.program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree
    if name in names_read_outside(scope, loop, [initial]):
        return as_log(evidence, walk, name)
    if evidence.program.block_of(initial) is not evidence.program.block_of(loop):
        return None
    return fix(
        Applicability.SAFE, f"set up `{name}` in each iteration", Move(evidence.span(initial), evidence.span(loop.body[0]))
    )


def as_log(evidence: Evidence, walk: SecondWalk, name: str) -> Fix | None:
    """The total is read after the loop: walk the loss, keep the total as a log."""
    receiver = walk.walk.receiver
    loop = walk.loop
    assert loop is not None
    adds = [
        part for part in ast.walk(loop)
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id == name
    ]  # fmt: skip
    if len(adds) != 1 or not isinstance(adds[0].value, ast.Name) or not isinstance(receiver, ast.Name) or receiver.id != name:
        return None
    loss = adds[0].value.id
    return fix(
        Applicability.SAFE, f"walk `{loss}` and keep `{name}` as a log", Replace(evidence.span(receiver), loss),
        Append(evidence.span(adds[0].value), ".detach()"),
    )  # fmt: skip


RULE = rule("GF204", "external-accumulator", globals(), find)

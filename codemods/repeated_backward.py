"""The same loss is walked twice.

## What it does
Finds a `backward()` over a loss whose graph an earlier `backward()` over the very same loss has freed.

## Why is this bad
The second walk raises "Trying to backward through the graph a second time". With `retain_graph=True` it would run and add
the same gradient once more.

## Example
```python
loss = criterion(model(x), y)
loss.backward()
optimizer.step()
loss.backward()
```

## Use instead
```python
loss = criterion(model(x), y)
loss.backward()
optimizer.step()
```

## Fix safety
Where the second call is a statement of its own that can only raise, deleting it changes no run that worked. Where the loss
is walked once per iteration or per call of a closure, it has to be computed anew each time, which only the author can
place; no fix is made.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.codemods.base import Evidence, fix, rule, short
from graphfix.model import Applicability, Delete, Finding, Fix
from graphfix.tape.diagnosis import Cause, SecondWalk


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.AST] = set()
    for walk in evidence.second_walks:
        site = walk.walk.site
        if walk.cause is not Cause.REPEATED or site in done or not evidence.holds(site):
            continue
        done.add(site)
        statement = evidence.program.statement_of(site)
        story = [evidence.label(site, "walks the same loss again and raises")]
        if evidence.holds(walk.freed_by.site) and walk.freed_by.site is not site:
            story.insert(0, evidence.label(walk.freed_by.site, "walks the loss and frees its graph"))
        root = walk.walk.receiver
        name = short(evidence.program.source(root)) if root is not None else "the loss"
        yield Finding(
            "GF302",
            "repeated-backward",
            f"`{name}` is walked twice",
            evidence.program.path,
            evidence.span(statement),
            tuple(story),
            repair_of(evidence, walk),
        )


def repair_of(evidence: Evidence, walk: SecondWalk) -> Fix | None:
    """Delete the second call where it always raises and is a statement of its own."""
    statement = evidence.program.statement_of(walk.walk.site)
    alone = isinstance(statement, ast.Expr) and statement.value is walk.walk.site
    if not alone or walk.loop is not None or not walk.always or walk.walk.site is walk.freed_by.site:
        return None
    return fix(Applicability.SAFE, "remove the second walk", Delete(evidence.span(statement)))


RULE = rule("GF302", "repeated-backward", globals(), find)

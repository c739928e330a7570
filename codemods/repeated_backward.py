"""`backward()` is called twice on the same loss.

## What it does
Finds a `backward()` on a loss whose graph an earlier `backward()` on the same loss has freed.

## Why is this bad
The second `backward()` raises
"RuntimeError: Trying to backward through the graph a second time".
With `retain_graph=True` it would run and add the same gradient once more.

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
If the second call is a statement of its own and always raises, removing it changes no working run. (It does not raise if all
operations are custom ones that read no saved tensors.) It is removed if no parameter changes in between, or if its gradient would be
cleared unused. Otherwise the fix adds a second forward pass, which the author may have meant. If each iteration of a loop calls `backward()` on the
same loss, the loss is computed in each iteration: that is safe if its inputs do not change in between and are not random, because a
working run has one iteration. Moving the computation into a closure that the optimizer calls several times is unsafe:
the optimizer decides how often it runs.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.calls_between import callers_of
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Finding, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.AST] = set()
    for walk in evidence.second_backwards:
        site = walk.walk.site
        if walk.cause is not Cause.REPEATED or site in done or not evidence.program.holds(site):
            continue
        done.add(site)
        yield from evidence.told(report, walk)


def report(evidence: Evidence, walk: SecondBackward) -> Finding:
    site = walk.walk.site
    statement = evidence.program.statement_of(site)
    story = [evidence.label(site, "this backward() goes through the same loss again and raises")]
    callers = callers_of(walk)
    if callers is not None and all(map(evidence.program.holds, callers)):
        first, statement = callers
        story.insert(0, evidence.label(first, "this call goes backward through the loss, which frees its graph"))
        story.insert(1, evidence.label(statement, "this call does it again"))
    if evidence.program.holds(walk.freed_by.site) and walk.freed_by.site is not site:
        story.insert(0, evidence.label(walk.freed_by.site, "this backward() frees the graph"))
    root = walk.walk.receiver
    name = short(evidence.program.source(root)) if root is not None else "the loss"
    return RULE.finding(
        evidence,
        f"backward() is called twice on `{name}`",
        evidence.program.span(statement),
        in_time(*story),
        shown_by=walk,
    )


RULE = rule(
    "GF302",
    "repeated-backward",
    globals(),
    find,
    repair="Remove the second backward() on one loss.",
    by_hand="call backward() once on `{}`, or compute `{}` again before the second call",
    shows=(SECOND_WALK,),
    results=Expected("skip", "the second backward() on a loss is gone", losses=False, joins=True),
)

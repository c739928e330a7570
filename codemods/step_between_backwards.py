"""A parameter is stepped between the forward pass that saved it and the backward pass that needs it.

## What it does
Finds a `backward()` over a graph in which a parameter is saved that an optimizer's `step()` (or another in-place write) has
changed since.

## Why is this bad
The gradient would be computed with the new value of the parameter. Autograd notices it by the version counter and raises "one of
the variables needed for gradient computation has been modified by an inplace operation".

## Example
```python
fake = generator(z)
d_loss = -(critic(real) - critic(fake)).mean()
g_loss = -critic(fake).mean()
d_loss.backward(retain_graph=True)
critic_optimizer.step()
g_loss.backward()
generator_optimizer.step()
```

## Use instead
```python
d_loss = -(critic(real) - critic(fake.detach())).mean()
d_loss.backward()
critic_optimizer.step()
g_loss = -critic(fake).mean()
g_loss.backward()
generator_optimizer.step()
```

## Fix safety
No fix is made: running all backward passes before the steps, and computing the later loss anew with the stepped parameters,
are different trainings, and the first also adds the later loss's gradient to the other network unless that is cleared.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.codemods.base import Evidence, rule, short
from graphfix.model import Finding, Label
from graphfix.tape.explore import Run
from graphfix.tape.graph import Stale, Walk


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.AST] = set()
    for run in evidence.tape.runs:
        for event in run.evidence.walks:
            stale = next((s for s in event.stale if s.certain and stepped_at(run, event, s) is not None), None)
            if stale is None or event.site in done or not evidence.holds(event.site):
                continue
            done.add(event.site)
            yield report(evidence, run, event, stale)


def stepped_at(run: Run, event: Walk, stale: Stale) -> ast.AST | None:
    """The step that changed the parameter after the forward pass."""
    return next(
        (
            update.site
            for update in run.evidence.updates
            if update.steps
            and update.leaves is not None
            and stale.leaf in update.leaves
            and stale.node.order < update.order < event.order
        ),
        None,
    )


def report(evidence: Evidence, run: Run, event: Walk, stale: Stale) -> Finding:
    statement = evidence.program.statement_of(event.site)
    step = stepped_at(run, event, stale)
    story: list[Label] = []
    if evidence.holds(stale.node.site):
        story.append(evidence.label(stale.node.site, "saves its parameters for the backward pass"))
    if step is not None and evidence.holds(step):
        story.append(evidence.label(step, "changes them in place"))
    story.append(evidence.label(event.site, "needs the saved ones and raises"))
    text = short(evidence.program.source(event.site), 30)
    message = f"`{text}` needs parameters that were stepped since"
    return Finding("GF304", "step-between-backwards", message, evidence.program.path, evidence.span(statement), tuple(story))


RULE = rule("GF304", "step-between-backwards", globals(), find)

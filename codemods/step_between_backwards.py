"""An optimizer steps a parameter between the forward pass that saved it and the backward pass that needs it.

## What it does
Finds a `backward()` through a graph that saved a parameter which an optimizer's `step()` (or another in-place write) has
changed since.

## Why is this bad
The gradient would be computed with the new value of the parameter. Autograd notices it by the version counter: `backward()`
raises
"RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation".

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
fake = generator(z)
d_loss = -(critic(real) - critic(fake.detach())).mean()
d_loss.backward()
critic_optimizer.step()
g_loss = -critic(fake).mean()
g_loss.backward()
generator_optimizer.step()
```

## Fix safety
Never safe: computing the later loss again with the stepped parameters, and calling both `backward()` before the steps, are
different ways to train; where both hold, both are offered. The fix keeps the forward pass as it is written: each backward pass
is limited to the parameters that its own optimizer steps (`inputs=`), and a step that changes what a later pass needs moves
after it. One step per item of a loop over stored losses becomes one step after the loop. There is no fix if other code between
the step and the `backward()` reads the stepped parameters.

## References
- https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.conflicts import Meeting, meetings
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import Subject
from graphfix.autograd.symptoms import SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.codemods.base import rule
from graphfix.model import Finding, Label, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    done: set[ast.AST] = set()
    for meeting in meetings(evidence):
        if meeting.is_stale and meeting.site not in done:
            done.add(meeting.site)
            yield from evidence.told(report, meeting)


def report(evidence: Evidence, meeting: Meeting) -> Finding:
    program = evidence.program
    conflict = next(conflict for conflict in meeting.conflicts if conflict.stale)
    story: list[Label] = []
    births = [node for node in sorted(conflict.stale, key=lambda n: n.order) if evidence.program.holds(node.site)]
    if births:
        story.append(evidence.label(births[0].site, "this saves its parameters for the backward pass"))
    step = conflict.steps[-1].site
    if evidence.program.holds(step):
        story.append(evidence.label(step, "this step changes them in place"))
    story.append(evidence.label(meeting.site, "backward() needs the saved ones and raises"))
    message = f"`{short(program.source(meeting.site), 30)}` needs parameters that a step has changed since"
    blamed = program.statement_of(meeting.site)
    # where the graph is freed as well, that is what raises
    shown = WRITTEN_IN_PLACE if all(conflict.first is None for conflict in meeting.conflicts) else SECOND_WALK
    subject = Subject(about=frozenset([meeting.site]), explains=frozenset([meeting.site]))
    return RULE.finding(
        evidence, message, evidence.program.span(blamed), in_time(*story), shown=shown, subject=subject, shown_by=conflict
    )


RULE = rule(
    "GF304",
    "step-between-backwards",
    globals(),
    find,
    repair="Limit each backward() to its own parameters; step behind the last.",
    by_hand="call every backward() before the first step, or compute the loss again after the step",
    shows=(SECOND_WALK, WRITTEN_IN_PLACE),
    results=Expected("copy", joins=True),
    yields_to=("GF303", "GF306"),
)

"""A gradient is asked for a tensor that the loss was not computed from.

## What it does
Finds `torch.autograd.grad(outputs, inputs)` where an input is made behind the outputs: a new slice, a view or a copy of what they were
computed from. Also where all that the outputs were computed from is known, and the input is no part of it: adapted parameters, while the
model computes with its own.

## Why is this bad
No way leads from the outputs to such an input, although both have the same content:
"RuntimeError: One of the differentiated Tensors appears to not have been used in the graph".

## Example
```python
x = torch.randn(batch, 4, requires_grad=True)
scores = model(x)
slope = torch.autograd.grad(scores[0].sum(), x[0])[0]
```

## Use instead
```python
x = torch.randn(batch, 4, requires_grad=True)
scores = model(x)
slope = torch.autograd.grad(scores[0].sum(), x)[0][0]
```

## Fix safety
Never safe, as the input may be meant that the model gets. Where an item or a slice is asked for, and the first gradient is taken out of
the result, the fix asks for the gradient of the whole, and takes the item of that.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import explaining
from graphfix.autograd.symptoms import NOT_USED
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Unused
from graphfix.model import Finding, NoFix, in_time
from graphfix.source.quote import short
from graphfix.verify.expected import Expected


def find(evidence: Evidence) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for run in evidence.tape.runs:
        for unused in run.recording.unused:
            if unused.site not in told and evidence.program.holds(unused.site) and not evidence.swallows(unused.site):
                told.add(unused.site)
                yield from evidence.told(report, unused)


def report(evidence: Evidence, unused: Unused) -> Finding:
    program, site = evidence.program, unused.site
    root, made = unused.root.site, unused.node.site
    story = [evidence.label(root, "this is computed without it")] if program.holds(root) else []
    if program.holds(made):
        story.append(evidence.label(made, "this makes the input anew"))
    return RULE.finding(
        evidence,
        f"`{short(program.source(unused.place), 30)}` is not what the outputs were computed from",
        program.span(program.statement_of(site)),
        in_time(*story, evidence.label(site, "this call wants its gradient and raises")),
        NoFix("the code does not show which tensor the model was given"),
        subject=explaining([unused.node]),
        shown_by=unused,
    )


RULE = rule(
    "GF314",
    "unused-input",
    globals(),
    find,
    repair="Ask for the gradient of what the outputs were computed from.",
    by_hand="give the model the same tensor that `torch.autograd.grad()` gets, in place of `{}`",
    shows=(NOT_USED,),
    results=Expected(reason="the original ends at the call", losses=False, joins=True),
)

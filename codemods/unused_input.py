"""A gradient is asked for a tensor that the loss was not computed from, or that needs none.

## What it does
Finds `torch.autograd.grad(outputs, inputs)` where an input is made behind the outputs: a new slice, a view or a copy of what they were
computed from. Also where all that the outputs were computed from is known, and the input is no part of it: adapted parameters, while the
model computes with its own. And inputs that need no gradient: data without `requires_grad`, frozen parameters.

## Why is this bad
No way leads from the outputs to such an input, although both have the same content:
"RuntimeError: One of the differentiated Tensors appears to not have been used in the graph". Of what needs no gradient, nothing is recorded:
"RuntimeError: One of the differentiated Tensors does not require grad".

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
the result, the fix asks for the gradient of the whole, and takes the item of that. Data is told to
require grad where it gets its name, before the outputs are computed.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import about, explaining
from graphfix.autograd.symptoms import NOT_REQUIRED, NOT_USED
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Ungraded, Unused
from graphfix.model import Append, Finding, Fix, Ground, NoFix, in_time
from graphfix.repair.fixes import fix
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

RECORDS = "what is computed from it is recorded from then on"


def find(evidence: Evidence) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for run in evidence.tape.runs:
        for unused in run.recording.unused:
            if unused.site not in told and evidence.program.holds(unused.site) and not evidence.swallows(unused.site):
                told.add(unused.site)
                yield from evidence.told(report, unused)
    yield from ungraded(evidence)


def ungraded(evidence: Evidence) -> Iterator[Finding]:
    """Inputs that need no gradient in each run that comes to the call."""
    found: dict[ast.AST, Ungraded] = {}
    graded: set[ast.AST] = set()
    for run in evidence.tape.runs:
        sites = {each.site: each for each in run.recording.ungraded}
        found = {**sites, **found}
        graded |= {walk.site for walk in run.recording.walks if walk.site not in sites}
    for site, each in found.items():
        if site not in graded and evidence.program.holds(site) and not evidence.swallows(site):
            yield from evidence.told(of_constant, each)


def of_constant(evidence: Evidence, each: Ungraded) -> Finding:
    program, site = evidence.program, each.site
    name = short(program.source(each.place), 30)
    frozen = each.leaf.frozen_at if each.leaf is not None else None
    story = [evidence.label(frozen, "this tells it to need no gradient")] if frozen is not None and program.holds(frozen) else []
    made = None if story else made_by_name(evidence, each)
    repair: Fix | NoFix = NoFix("the code does not show where it is to be told to require grad")
    if made is not None:
        story.append(evidence.label(made, "this needs no gradient"))
        repair = fix(f"let `{name}` require grad", Append(program.span(made), ".requires_grad_()"), ground=Ground.RAISES, doubt=RECORDS)
    story.append(evidence.label(site, "this call requests its gradient and raises"))
    span = program.span(program.statement_of(site))
    message = f"`{name}` needs no gradient, and this asks for one"
    finding = RULE.finding(evidence, message, span, in_time(*story), repair, shown=NOT_REQUIRED, subject=about(site))
    return replace(finding, by_hand=f"tell `{name}` to require grad before the outputs are computed, or leave it out of the inputs")


def made_by_name(evidence: Evidence, each: Ungraded) -> ast.expr | None:
    """What the only assignment of a variable in the same code gives it, where that is computed."""
    place, program = each.place, evidence.program
    if not isinstance(place, ast.Name):
        return None
    around = program.enclosing(each.site, (ast.FunctionDef, ast.AsyncFunctionDef)) or program.file_of(each.site).tree
    stores = [part for part in subtree(around) if isinstance(part, ast.Name) and part.id == place.id and isinstance(part.ctx, ast.Store)]
    statement = program.statement_of(stores[0]) if len(stores) == 1 else None
    is_plain = isinstance(statement, ast.Assign) and statement.targets == stores
    return statement.value if is_plain and isinstance(statement.value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)) else None


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
    shows=(NOT_USED, NOT_REQUIRED),
    results=Expected(reason="the original ends at the call", losses=False, joins=True),
)

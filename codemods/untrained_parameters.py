"""Parameters are passed by in training: no optimizer has them, or the loss is computed without recording them.

## What it does
Finds layers that get gradients from the loss which the optimizer steps for, while no optimizer is given their parameters (where it has none
of those that get gradients, as the network was made anew behind it, or is copied for each task, this is told once); and parameters that
an optimizer has, where the loss only knows what code under `no_grad`, a reentrant checkpoint without an input that needs a gradient, or a new
parameter, has made of them. What is frozen, in evaluation
mode, loaded from a file, handed to code that graphfix does not analyse, or trained in another way is left alone.

## Why is this bad
Nothing raises, and the loss may even fall, but these parameters stay as they were made: the model learns around random numbers.

## Example
```python
model, projection = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = F.mse_loss(projection(model(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
model, projection = nn.Linear(4, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*model.parameters(), *projection.parameters()], lr=0.1)
for x, y in loader:
    loss = F.mse_loss(projection(model(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: the parameters are trained from then on. A layer that has a name where the only optimizer is made is given to it. The
input of a checkpoint is told to require grad, or the checkpoint asks its parameters (`use_reentrant=False`). There is no fix
for what else is read without recording: the code does not show which part of it is to be recorded.

## References
- https://docs.pytorch.org/docs/stable/optim.html#constructing-it
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.lost_graphs import switched_off_at
from graphfix.analysis.subject import about
from graphfix.analysis.untrained import Untrained, untrained
from graphfix.autograd.severed import How, Severed
from graphfix.autograd.symptoms import UNTRAINED
from graphfix.codemods.base import rule
from graphfix.model import Finding, Fix, Ground, NoFix, Severity, in_time
from graphfix.repair.checkpoint import MEANT_TO_TRAIN, recorded_anyway
from graphfix.repair.fixes import fix
from graphfix.repair.given_too import given_too
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
from graphfix.verify.expected import Expected

UNRECORDED = "the code under no_grad may be meant to stay as it is"
OTHER = "the code does not show which network is meant"
SHOWN = 2  # layers
COPIED = "the code does not show which layer is to compute with it instead"
NAMELESS = "the code does not show which optimizer is to have it"


def find(evidence: Evidence) -> Iterator[Finding]:
    found: dict[tuple[ast.AST, str], Untrained] = {}
    for each in untrained(evidence):
        statement = evidence.program.statement_of(each.made)
        found.setdefault((statement, ast.unparse(named_by(statement, each.made))), each)
    idle = [each for each in found.values() if each.is_idle and len(each.optimizers) == 1]
    site = idle[0].optimizers[0][0] if len(idle) > 1 or any(each.copied_at for each in idle) else None
    if site is not None and evidence.program.holds(site):
        yield from evidence.told(of_another_network, site, idle)
        found = {place: each for place, each in found.items() if each not in idle}
    for each in found.values():
        if each.severed is None or each.severed.how is not How.CHECKPOINTED:
            yield from evidence.told(report, each)
    cuts = [(each.severed, each) for each in found.values() if each.severed is not None and each.severed.how is How.CHECKPOINTED]
    for checkpoint, (cut, each) in {cut.site: (cut, each) for cut, each in cuts}.items():
        if isinstance(checkpoint, ast.Call) and evidence.program.holds(checkpoint):
            yield from evidence.told(of_checkpoint, checkpoint, cut, each)


def of_another_network(evidence: Evidence, site: ast.AST, layers: list[Untrained]) -> Finding:
    """An optimizer that has none of the parameters which get gradients, as those are made behind it, or for another network."""
    program, first = evidence.program, layers[0]
    story = [evidence.label(site, "this optimizer has other parameters than those that get gradients")]
    copies = [each.copied_at for each in layers if each.copied_at is not None and program.holds(each.copied_at)]
    story += [evidence.label(made, "this makes a copy, and the copy gets the gradients") for made in dict.fromkeys(copies)]
    story += [evidence.label(each.made, "nothing trains this") for each in layers[:SHOWN]]
    for place, what in ((first.walk.site, "this backward() gives no gradient to what the optimizer has"), (first.step.site, "this step changes nothing")):
        if program.holds(place):
            story.append(evidence.label(place, what))
    name = short(program.source(named_by(program.statement_of(site), site)), 30)
    subject = about(*(each.made for each in layers))
    message = f"`{name}` has none of the parameters that get gradients"
    finding = RULE.finding(evidence, message, program.span(program.statement_of(site)), in_time(*story), NoFix(OTHER), subject=subject)
    if copies:
        how = "compute the loss with weights that are computed from those of the optimizer (`torch.func.functional_call` takes them)"
        return replace(finding, by_hand=how)
    return replace(finding, by_hand=f"make `{name}` of the network that computes the loss, behind the last line that makes or replaces it")


def of_checkpoint(evidence: Evidence, checkpoint: ast.Call, cut: Severed, each: Untrained) -> Finding:
    """A reentrant checkpoint whose inputs need no gradient: as with adapters behind a frozen embedding."""
    program, name = evidence.program, short(evidence.program.source(checkpoint), 40)
    story = [evidence.label(checkpoint, "this records nothing, as none of its inputs needs a gradient")]
    for place, what in (
        (each.made, "it runs this, which an optimizer has"),
        (each.walk.site, "this backward() gives it no gradient"),
        (each.step.site, "this step leaves it as it is"),
    ):
        if program.holds(place):
            story.append(evidence.label(place, what))
    title, edits = recorded_anyway(evidence, cut, checkpoint)
    repair = fix(title, *edits, ground=Ground.RAISES, doubt=MEANT_TO_TRAIN)
    span = program.span(program.statement_of(checkpoint))
    message = f"`{name}` trains none of its parameters"
    finding = RULE.finding(evidence, message, span, in_time(*story), repair, subject=about(each.made, checkpoint))
    return replace(finding, by_hand="let the checkpoint record by `use_reentrant=False`, or tell its input to require grad")


def named_by(statement: ast.stmt, made: ast.AST) -> ast.AST:
    """What is assigned a new layer; the layer itself where it has no name of its own."""
    if not isinstance(statement, ast.Assign) or is_called_at_once(statement, made):
        return made
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return next((name for name, part in zip(target.elts, value.elts, strict=True) if made in subtree(part)), target)
    return target


def is_called_at_once(statement: ast.stmt, made: ast.AST) -> bool:
    """Whether a layer is used where it is made, and gone then: `nn.LayerNorm(8)(x)`."""
    return any(isinstance(part, ast.Call) and part.func is made for part in subtree(statement))


def report(evidence: Evidence, each: Untrained) -> Finding:
    program = evidence.program
    statement = program.statement_of(each.made)
    target = named_by(statement, each.made)
    name = short(program.source(target), 30)
    story = [evidence.label(each.made, "nothing trains this")]
    cut, copies = each.severed, each.severed is not None and each.severed.how is How.COPIED
    if cut is not None and program.holds(cut.site):
        off = switched_off_at(evidence, cut)
        story += [evidence.label(off, "this switches recording off")] if off is not None else []
        reads = "makes a new tensor of what is computed with it, without its graph" if copies else "reads it without recording a graph"
        story.append(evidence.label(cut.site, f"this {reads}"))
    if program.holds(each.walk.site):
        to = "gives it gradients" if cut is None else "gives it no gradient"
        story.append(evidence.label(each.walk.site, f"this backward() {to}"))
    if program.holds(each.step.site):
        what = "changes other parameters" if cut is None else "leaves it as it is"
        story.append(evidence.label(each.step.site, f"this step {what}"))
    repair: Fix | NoFix = NoFix(COPIED if copies else UNRECORDED)
    message = f"the loss does not train `{name}`, which an optimizer has"
    if cut is None:
        message = f"no optimizer has `{name}`, which gets gradients"
        made = given_too(evidence, each, target)
        repair = made if made is not None else NoFix(NAMELESS)
    subject = about(each.made) if cut is None else about(each.made, cut.site)
    finding = RULE.finding(evidence, message, program.span(statement), in_time(*story), repair, subject=subject)
    if cut is not None:
        if copies:
            return replace(finding, by_hand=f"compute the loss with the tensor itself, not with a copy, or leave `{name}` out of the optimizer")
        return replace(finding, by_hand=f"read `{name}` where operations are recorded, or leave it out of the optimizer")
    if is_called_at_once(statement, each.made):
        return replace(finding, by_hand=f"make `{name}` once, where its module is made, so that `parameters()` gives its own")
    return finding


RULE = rule(
    "GF316",
    "untrained-parameters",
    globals(),
    find,
    repair="Give an optimizer the parameters that it is to train.",
    by_hand="give the parameters of `{}` to the optimizer, or tell them that they need no gradient",
    shows=(UNTRAINED,),
    severity=Severity.WARNING,
    results=Expected("train", reason="the parameters are trained now"),
    yields_to=("GF103", "GF310", "GF315"),
)

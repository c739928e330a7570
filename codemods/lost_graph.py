"""`backward()` finds no graph: it was cut between the parameters and the loss.

## What it does
Finds a `backward()` that is called on a tensor without a graph in every run, where an operation on the way has cut the graph of what the
loss is computed from: `detach()` or `.data`, `argmax` or a comparison, a tensor made from a number, code under `no_grad`. Also one before
which no graph began: `set_grad_enabled(False)` as a statement switches recording off for all that follows, or all parameters that the
loss depends on were told to need no gradient. A loss that was told to require grad after that (`loss.requires_grad_(True)`,
`Variable(loss, requires_grad=True)`) has no graph either: the error is gone, and nothing is trained. So it is with a term of the loss, such as a
penalty on `weight.data`, that adds to its value alone.

## Why is this bad
Nothing is trained, and the `backward()` raises
"RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn", or, where the loss was told to require grad, says nothing.

## Example
```python
for x, y in loader:
    loss = torch.tensor(F.mse_loss(model(x), y).item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Use instead
```python
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Fix safety
Never safe: the graph may have been cut on purpose, and another loss be meant. The fix puts the value that was cut in the place of the
cut (`torch.stack(losses)` in that of `torch.tensor(losses)`), or `True` in that of the `False` that freezes or switches off, if
`backward()` then trains something. There is no fix for an operation that has no gradient, such as `argmax`, and none for code under
`no_grad`.

## References
- https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.lost_graphs import LostGraph, lost_graphs, switched_off_at
from graphfix.analysis.lost_terms import LostTerm, lost_terms
from graphfix.analysis.mended import kept_node
from graphfix.analysis.subject import Subject
from graphfix.autograd.graph import history
from graphfix.autograd.severed import How, Severed
from graphfix.autograd.symptoms import NO_GRAPH, UNTRAINED
from graphfix.codemods.base import rule
from graphfix.model import Finding, Fix, Ground, NoFix, Severity, in_time
from graphfix.repair.fixes import fix
from graphfix.repair.regained import MEANT, instead, origin, stacked
from graphfix.source.quote import short
from graphfix.verify.expected import Expected

WHAT = {
    How.CONSTANT: "the result of this has no graph",
    How.UNRECORDED: "this runs without recording a graph",
    How.COPIED: "this makes a new tensor, which takes over no graph",
    How.SWITCHED_OFF: "this switches recording off for all that follows",
    How.FROZEN: "this tells the parameters to need no gradient",
    How.CHECKPOINTED: "this records nothing, as none of its inputs needs a gradient",
}
WHY_NOT = {
    How.CONSTANT: "no gradient goes through this operation",
    How.UNRECORDED: "the code under no_grad may be meant to evaluate only",
    How.COPIED: "the number is not read where the tensor is made",
    How.SWITCHED_OFF: "the code does not show where recording is to go on",
    How.FROZEN: "the code does not show which parameters are to be trained",
    How.CHECKPOINTED: "it is no call that can be told to look at its parameters",
}


def find(evidence: Evidence) -> Iterator[Finding]:
    for lost in lost_graphs(evidence):
        yield from evidence.told(report, lost)
    for term in lost_terms(evidence):
        yield from evidence.told(of_term, term)


def of_term(evidence: Evidence, term: LostTerm) -> Finding:
    """A part of a loss that adds to its value, and to no gradient."""
    program, cut = evidence.program, term.severed
    off = switched_off_at(evidence, cut)
    story = [evidence.label(off, "this switches recording off")] if off is not None else []
    story.append(evidence.label(cut.site, WHAT[cut.how]))
    if term.sum is not cut.site:
        story.append(evidence.label(term.sum, "what is made of it is added here, to what has a graph"))
    if program.holds(term.walk.site):
        story.append(evidence.label(term.walk.site, "this backward() passes that term by"))
    whole = origin(cut)
    text = stacked(evidence, cut) or (program.source(whole) if whole is not None else "")
    repair: Fix | NoFix = NoFix(WHY_NOT[cut.how])
    if text:
        repair = fix(f"go on with the graph of `{short(text, 30)}`", instead(evidence, cut.site, text), ground=Ground.RAISES, doubt=MEANT)
    message = f"`{short(program.source(cut.site), 30)}` leaves a term of the loss without a graph"
    span = program.span(program.statement_of(cut.site))
    finding = RULE.finding(evidence, message, span, in_time(*story), repair, severity=Severity.WARNING, shown=UNTRAINED, subject=meaning(cut))
    return replace(finding, by_hand=f"keep to operations that have a gradient in `{short(program.source(cut.site), 30)}`, or leave the term out")


def meaning(cut: Severed, others: Iterable[Severed] = ()) -> Subject:
    """The subject of a finding about a cut: it explains why no backward pass uses what was computed before, and what a new tensor was made of."""
    ways = (node.way for node in history(list(cut.nodes)))
    kept = map(kept_node, cut.nodes if cut.how is How.COPIED else ())
    return Subject(about=frozenset([cut.site]), explains=frozenset([cut.site, *(other.site for other in others), *ways, *kept]))


def report(evidence: Evidence, lost: LostGraph) -> Finding:
    program, cut, site = evidence.program, lost.severed, lost.bare.site
    cuts = lost.every if cut.how is How.FROZEN else (cut,)
    flag = lost.bare.flag
    flags = [flag] if flag is not None and flag is not cut.site and program.holds(flag) else []
    shown = NO_GRAPH if flag is None else UNTRAINED
    offs = dict.fromkeys(off for each in cuts if (off := switched_off_at(evidence, each)) is not None)
    story = [
        *(evidence.label(off, "this switches recording off") for off in offs),
        *(evidence.label(each.site, WHAT[each.how]) for each in cuts),
        *(evidence.label(flag, "this ends the error, and brings no graph back") for flag in flags),
        evidence.label(site, "this backward() finds no graph to go through and " + ("raises" if flag is None else "trains nothing")),
    ]
    loss = lost.bare.receiver if lost.bare.receiver is not None else site
    what = program.statement_of(cut.site) if cut.how is How.FROZEN else cut.site
    message = f"`{short(program.source(what), 30)}` leaves `{short(program.source(loss), 18)}` without a graph"
    span = program.span(program.statement_of(cut.site))
    subject = meaning(cut, lost.bare.others)
    finding = RULE.finding(evidence, message, span, in_time(*story), NoFix(WHY_NOT[cut.how]), shown=shown, subject=subject, shown_by=lost.bare)
    if not offs:
        return finding
    return replace(finding, by_hand=f"compute the loss within `torch.enable_grad()`, or leave `{short(program.source(next(iter(offs))), 30)}` out")


RULE = rule(
    "GF310",
    "lost-graph",
    globals(),
    find,
    repair="Let the graph go on where the loss has lost it.",
    by_hand="keep to operations that have a gradient, between the parameters and `backward()`, in place of `{}`",
    shows=(NO_GRAPH, UNTRAINED),
    results=Expected(reason="the original trains nothing", losses=False, joins=True),
)

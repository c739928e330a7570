"""`create_graph=True` records the gradients, and no `backward()` uses the recorded graph.

## What it does
Finds `torch.autograd.grad` and `backward` with a constant `create_graph=True` if no later call of either, on any path, goes
through the computed gradients. It also finds a call that training and evaluation share, as the forces of a potential are computed
(`forces = -torch.autograd.grad(energy, positions, create_graph=True)[0]`), if only those of training mode are gone through.

## Why is this bad
The backward pass itself becomes a graph with saved tensors of its own, and the graph of the forward pass is kept as well: two to
three times the memory and a slower pass, for nothing. With `backward` the parameters and their gradients refer to each other, so
the memory may never be freed; torch warns: "Using backward() with create_graph=True will create a reference cycle".

## Example
```python
x.requires_grad_()
score = model(x).sum()
saliency = torch.autograd.grad(score, x, create_graph=True)[0]
print(saliency.abs().mean().item())
```

## Use instead
```python
x.requires_grad_()
score = model(x).sum()
saliency = torch.autograd.grad(score, x)[0]
print(saliency.abs().mean().item())
```

## Fix safety
The fix is safe if graphfix sees everything that is computed from the gradients and no `backward()` goes through it. If a later
`backward()` needs the graph of the forward pass, `retain_graph=True` takes its place. The fix is unsafe if code that is not analysed
can reach a part of the graph, or if torch has another formula for gradients that are recorded, which rounds differently. A call that
training and evaluation share gets an unsafe fix, `create_graph=self.training`.

## References
- https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.forwards import is_of_module, module_called
from graphfix.analysis.walked_again import in_sight, needed
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.autograd.symptoms import RETAINS, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.values import Instance
from graphfix.model import OUTSIDE, AddArgument, Finding, Fix, NoFix, Operation, RemoveArgument, Replace, Severity
from graphfix.repair.fixes import fix, unless
from graphfix.repair.no_grad import evaluation_mode
from graphfix.source.spelling import FUNCTIONS
from graphfix.source.subtree import subtree


def find(evidence: Evidence) -> Iterator[Finding]:
    sites: dict[ast.Call, list[tuple[Run, BackwardPass]]] = {}
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            if event.creates and evidence.program.holds(event.site):
                sites.setdefault(event.site, []).append((run, event))
    for site, events in sites.items():
        keyword = next((k for k in site.keywords if k.arg == "create_graph"), None)
        constant = keyword is not None and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        if keyword is None or not constant:
            continue
        serving = [event for run, event in events if serves(evidence, run, event)]
        if not serving:
            yield report(evidence, site, keyword, events)
        elif any(node.walks for event in serving for node in event.created):
            whole = [event for run, event in events if run.recording.ended_by is None]  # what follows in another may go through it
            in_vain = [event for event in whole if event not in serving and is_evaluation(event)]
            if in_vain and not any(map(is_evaluation, serving)) and not any(needed(event, None) for event in in_vain):
                yield report_shared(evidence, site, keyword, in_vain)


def is_evaluation(event: BackwardPass) -> bool:
    """Whether it goes, again and again, through what a module in evaluation mode has made."""
    modes = {node.training for node in event.below}
    return bool(event.context) and False in modes and True not in modes


def serves(evidence: Evidence, run: Run, event: BackwardPass) -> bool:
    """Whether the recorded gradients may be walked: by a walk in sight, or by code that is not."""
    if event.kind is not WalkKind.GRAD:
        return reads_gradients(evidence, run)
    if not event.created:
        return True  # under no_grad, or of nothing that is known
    made = set(event.created)
    kept = any(isinstance(store.place[0], Instance) and made & set(store.nodes) for store in run.recording.stores)
    return any(node.walks or node in run.recording.escapes for node in made) or kept and not run.entry.is_module


def reads_gradients(evidence: Evidence, run: Run) -> bool:
    """Whether something may take up the gradients that `backward` leaves with a graph: code that reads `.grad`, an unknown optimizer."""
    documents = (document for document in evidence.flow.code.documents.values() if "grad" in document.words)
    reads = any(names_gradient(part) for document in documents for part in subtree(document.tree))
    return reads or not run.recording.updates or any(update.steps and not update.complete for update in run.recording.updates)


def names_gradient(part: ast.AST) -> bool:
    if isinstance(part, ast.Constant):
        return part.value == "grad"
    return isinstance(part, ast.Attribute) and part.attr == "grad" and getattr(part.value, "attr", "") != "autograd"


def report(evidence: Evidence, site: ast.Call, keyword: ast.keyword, events: list[tuple[Run, BackwardPass]]) -> Finding:
    sure = all(in_sight(run, event) for run, event in events)
    operations: list[Operation] = [RemoveArgument(evidence.program.span(site), "create_graph")]
    if any(needed(event, None) for _, event in events) and all(k.arg != "retain_graph" for k in site.keywords):
        operations.append(AddArgument(evidence.program.span(site), "retain_graph", "True"))
    doubt = unless(sure, f"{OUTSIDE}may call backward() on these gradients")
    repair = fix("remove `create_graph=True`", *operations, doubt=doubt)
    story = (evidence.label(keyword.value, "no backward() goes through the graph of these gradients"),)
    blamed = evidence.program.statement_of(site)
    return RULE.finding(
        evidence, "`create_graph=True` records a graph of gradients that no backward() uses", evidence.program.span(blamed), story, repair
    )


def report_shared(evidence: Evidence, site: ast.Call, keyword: ast.keyword, in_vain: list[BackwardPass]) -> Finding:
    """A call that training and evaluation share: the module that made its graph says which of the two it is."""
    module = next(filter(None, map(module_of, in_vain)), None)
    repair: Fix | NoFix = NoFix("the module that computes it has no name here")
    if module is not None:
        doubt = f"{OUTSIDE}may call backward() on gradients that are computed in evaluation mode"
        value = f"{module}.training"
        repair = fix("record them in training mode only", Replace(evidence.program.span(keyword.value), value), doubt=doubt)
    story = (
        evidence.label(keyword.value, "records in both modes, but backward() goes only through the gradients of training mode"),
        *evaluation_mode(evidence),
    )
    blamed = evidence.program.span(evidence.program.statement_of(site))
    message = "`create_graph=True` records in evaluation mode, and no backward() uses that"
    return RULE.finding(evidence, message, blamed, story, repair)


def module_of(event: BackwardPass) -> str | None:
    """How the function around a walk calls the module that made the graph: `self` in a method of one, a name that it calls it by."""
    frame, _ = event.trace[-1]
    receiver = receiver_of(frame)
    if receiver is not None:
        return receiver
    for node in event.below:
        statement = next((statement for each, statement in node.trace if each is frame), None)
        called = module_called(frame, statement, node) if statement is not None else None
        if called is not None:
            return ast.unparse(called)
    return None


def receiver_of(frame: Frame) -> str | None:
    """The name of the module that the function around is a method of."""
    if not is_of_module(frame) or not isinstance(frame.definition, FUNCTIONS):
        return None
    parameters = [*frame.definition.args.posonlyargs, *frame.definition.args.args]
    return parameters[0].arg if parameters else None


RULE = rule(
    "GF307",
    "needless-create-graph",
    globals(),
    find,
    repair="Remove create_graph=True where no backward() needs it.",
    by_hand="remove `create_graph=True`",
    shows=(RETAINS, SECOND_WALK),
    severity=Severity.WARNING,
)

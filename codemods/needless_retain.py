"""`retain_graph=True` on the last `backward()` through a graph.

## What it does
Finds a `backward()` or `torch.autograd.grad` with a constant `retain_graph=True` whose graph no later call needs, on any path.
If the graph comes from a caller, or returns to one, the caller may call `backward()` on it: such a helper is not reported. Where the
caller passes the flag (`update(loss, keep=True)`), it is the call that is reported.
A test does not run for long: in test modules (by name, or because they import pytest or unittest) the finding is optional.

## Why is this bad
The graph and all tensors saved in it stay in memory until the last reference to the loss is gone, often until the next
iteration's forward pass has recorded its own: up to twice the memory, for nothing. It also hides the error that a graph carried
from one iteration into the next would raise,
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
loss = F.mse_loss(model(x), y)
optimizer.zero_grad()
loss.backward(retain_graph=True)
optimizer.step()
```

## Use instead
```python
loss = F.mse_loss(model(x), y)
optimizer.zero_grad()
loss.backward()
optimizer.step()
```

## Fix safety
The fix is safe if graphfix sees every `backward()` through the graph and none follows. It is unsafe if a part of the graph is passed
to code that is not analysed, or if the model itself is not analysed, because either may use the graph again. It is also unsafe
if a loop may yield the same loss twice (`cycle`, `choices`, `zip(losses, losses[1:])`).
There is no fix if the losses of a loop may come from a generator, because it does not show which one is the last.

## References
- https://pytorch.org/docs/stable/generated/torch.Tensor.backward.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.passed_flags import PassedFlag, passed_flag
from graphfix.analysis.subject import about
from graphfix.analysis.walked_again import (
    behind_recorded_gradients,
    in_sight,
    needed,
    of_one_container,
    shared_with_given,
    walks_from_pile,
)
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.autograd.symptoms import RETAINS, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.interpreter.interning import kind_of
from graphfix.model import OUTSIDE, AddArgument, Finding, Operation, RemoveArgument, Replace, Severity, Span, in_time
from graphfix.repair.fixes import fix, unless
from graphfix.source.subtree import subtree


def find(evidence: Evidence) -> Iterator[Finding]:
    sites: dict[ast.Call, list[tuple[Run, BackwardPass]]] = {}
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            if event.keyword is True and evidence.program.holds(event.site) and is_constant(event.site):
                sites.setdefault(event.site, []).append((run, event))
    for site, events in sites.items():
        if any(is_for_caller(run, event) for run, event in events):
            continue
        if any(walks_from_pile(run, event) or shared_with_given(run, event) or of_one_container(run, event) for run, event in events):
            continue  # a later iteration than the simulated ones, or code that is not in sight, may walk it again
        if any(behind_recorded_gradients(run, event) for run, event in events):
            continue
        if any(event.creates or needed(event, None) for _, event in events):
            finding = last_of_loop(evidence, site, events)
            if finding is not None and not given_by_callers(evidence, site, events[0][1].kind):
                yield finding
            continue
        keyword = next((k for k in site.keywords if k.arg == "retain_graph"), None)
        if keyword is None or given_by_callers(evidence, site, events[0][1].kind):
            continue
        sure = all(in_sight(run, event) for run, event in events)
        statement = evidence.program.statement_of(site)
        story = (evidence.label(keyword.value, "no later backward() goes through this graph"),)
        doubt = unless(sure, f"{OUTSIDE}may call backward() on this graph again")
        repair = fix("remove `retain_graph=True`", RemoveArgument(evidence.program.span(site), "retain_graph"), doubt=doubt)
        yield RULE.finding(
            evidence,
            "`retain_graph=True` keeps a graph that no later backward() uses",
            evidence.program.span(statement),
            story,
            repair,
            subject=about(site),
        )
    yield from passed_for_nothing(evidence)


def passed_for_nothing(evidence: Evidence) -> Iterator[Finding]:
    """Findings for calls that have a helper retain its graph: `update(loss, keep=True)`."""
    calls: dict[ast.Call, list[tuple[Run, BackwardPass, PassedFlag]]] = {}
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            flag = passed_flag(event, "retain_graph") if event.keyword is True else None
            if flag is not None and isinstance(flag.value, ast.Constant) and evidence.program.holds(flag.call):
                calls.setdefault(flag.call, []).append((run, event, flag))
    for call, events in calls.items():
        if any(event.creates or needed(event, None) or not in_sight(run, event) for run, event, _ in events):
            continue
        if any(is_for_caller(run, e) or walks_from_pile(run, e) or shared_with_given(run, e) for run, e, _ in events):
            continue
        flag = events[0][2]
        if flag.value is None or any(behind_recorded_gradients(run, event) for run, event, _ in events):
            continue
        repair = fix(
            f"pass `{flag.name}=False`",
            Replace(evidence.program.span(flag.value), "False"),
            doubt=f"{OUTSIDE}may call backward() on this graph again",
        )
        yield RULE.finding(
            evidence,
            f"`{flag.name}=True` keeps a graph that no later backward() uses",
            evidence.program.span(evidence.program.statement_of(call)),
            in_time(
                evidence.label(flag.value, "this has the backward() keep its graph"),
                evidence.label(events[0][1].site, "no later backward() goes through this graph"),
            ),
            repair,
            subject=about(call),
        )


def refuted(evidence: Evidence) -> Iterator[Span]:
    """The calls to which this program gives a graph that is walked again, so that it has to be retained."""
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            if event.keyword is True and evidence.program.holds(event.site) and needed(event, None):
                yield evidence.program.span(evidence.program.statement_of(event.site))


def given_by_callers(evidence: Evidence, site: ast.Call, kind: WalkKind) -> bool:
    """Whether code that is not in sight may give the very loss."""
    if kind is WalkKind.METHOD:
        return isinstance(site.func, ast.Attribute) and evidence.flow.is_given(site.func.value)
    return bool(site.args) and evidence.flow.is_given(site.args[0])


def is_for_caller(run: Run, event: BackwardPass) -> bool:
    """Whether the graph is the caller's, who has it kept for himself: he has given it, or gets it back."""
    given = bool(event.nodes) and all(kind_of(node.callee) == "given" for node in event.nodes)
    return given or any(
        why == "returned" and order > event.order for node in event.nodes for _, why, order in run.recording.escapes.get(node, ())
    )


def is_constant(site: ast.Call) -> bool:
    """Whether the keyword is a literal: an expression that happens to be true says what the author means by it."""
    given = [keyword.value for keyword in site.keywords if keyword.arg in ("retain_graph", "retain_variables")]
    return bool(given) and all(isinstance(value, ast.Constant) for value in given)


def last_of_loop(evidence: Evidence, site: ast.Call, events: list[tuple[Run, BackwardPass]]) -> Finding | None:
    """A loop over a list of losses that share a graph: all but the last have to retain it."""
    loop = evidence.program.enclosing(site, (ast.For, ast.FunctionDef, ast.AsyncFunctionDef, ast.While))
    form = form_of(loop) if isinstance(loop, ast.For) and not loop.orelse else None
    if not isinstance(loop, ast.For) or form is None or is_rebound(loop, form[0]):
        return None
    if any(event.creates or needed(event, site) or not event.context or not in_sight(run, event) for run, event in events):
        return None
    if any(again_in_other_loop(loop, event) for _, event in events) or any(
        isinstance(p, (ast.Break, ast.Continue)) for p in subtree(loop)
    ):
        return None
    statement = evidence.program.statement_of(site)
    index, edits = counted(evidence, loop, *form)
    retained = AddArgument(evidence.program.span(site), "retain_graph", f"{index} < len({form[1]}) - 1")
    repair = fix("retain the graph for all losses but the last", *edits, retained)
    story = (evidence.label(site, f"no backward() goes through the graph after the last of `{form[1]}`"),)
    if not evidence.flow.has_length(losses_of(loop)):
        repair = None  # a generator does not know which of its items is the last
    message = "`retain_graph=True` keeps the graph after the last backward()"
    return RULE.finding(evidence, message, evidence.program.span(statement), story, repair, subject=about(site))


def form_of(loop: ast.For) -> tuple[str | None, str] | None:
    """The counter of `for i, loss in enumerate(losses)`, none of `for loss in losses`, with the losses; None for any other loop."""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Name) and isinstance(target, ast.Name):
        return None, over.id
    if not isinstance(over, ast.Call) or not isinstance(over.func, ast.Name) or over.func.id != "enumerate":
        return None
    if not isinstance(target, ast.Tuple) or len(over.args) != 1 or over.keywords or not isinstance(over.args[0], ast.Name):
        return None
    counter = target.elts[0]
    return (counter.id, over.args[0].id) if isinstance(counter, ast.Name) and counter.id != "_" else None


def losses_of(loop: ast.For) -> ast.expr:
    return loop.iter.args[0] if isinstance(loop.iter, ast.Call) else loop.iter


def is_rebound(loop: ast.For, counter: str | None) -> bool:
    """Whether the body gives the counter another value."""
    names = (part for statement in loop.body for part in subtree(statement) if isinstance(part, ast.Name))
    return any(name.id == counter and not isinstance(name.ctx, ast.Load) for name in names)


def counted(evidence: Evidence, loop: ast.For, counter: str | None, losses: str) -> tuple[str, list[Operation]]:
    """The counter of the loop, with the edits that give it one where it has none."""
    if counter is not None:
        return counter, []
    assert isinstance(loop.target, ast.Name)
    index = evidence.program.file_of(loop).fresh("i", "k", "index", "position", "which")
    named = Replace(evidence.program.span(loop.target), f"{index}, {loop.target.id}")
    return index, [named, Replace(evidence.program.span(loop.iter), f"enumerate({losses})")]


def again_in_other_loop(loop: ast.For, event: BackwardPass) -> bool:
    """Whether a later walk over this graph lies in another entry into `loop`, or in another iteration around it."""
    return any(
        later.order > event.order
        and [e for e in later.context if e[0].loop is not loop] != [e for e in event.context if e[0].loop is not loop]
        or later.order > event.order
        and later.context[-1][0] is not event.context[-1][0]
        for node in event.nodes
        for later in node.walks
    )


RULE = rule(
    "GF305",
    "needless-retain",
    globals(),
    find,
    repair="Remove retain_graph=True from the last backward() through a graph.",
    by_hand="remove `retain_graph=True`",
    shows=(RETAINS, SECOND_WALK),
    severity=Severity.WARNING,
    yields_to=("GF903",),
    refuted=refuted,
    bounded=True,
)

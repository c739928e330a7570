"""A running total, mean or moving average keeps the graph of every iteration.

## What it does
Finds a variable, attribute or item to which each iteration of a loop adds a tensor with its graph, and through which no
`backward()` ever goes.

## Why is this bad
`total += loss` makes a node whose parents are the old total and the new loss, so that the graphs of all iterations stay
alive as long as the total does: memory grows with every iteration, until it runs out ("CUDA out of memory"). Where
each loss has had a `backward()` of its own, a later one through the total raises
"RuntimeError: Trying to backward through the graph a second time".

## Example
```python
total = 0.0
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss
print(total / len(loader))
```

## Use instead
```python
total = 0.0
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(total / len(loader))
```

## Fix safety
The fix stores `.item()` if every later reader of the total takes a number and the value has one element, and `.detach()`
otherwise. It is safe if the graph that is added was freed by its own `backward()`, because any later `backward()` through the total
would raise, or if graphfix sees every reader of the total and none calls `backward()` on it. It is unsafe if code that graphfix does not
analyse can reach the total while its graph is still alive.

## References
- https://pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.growing_places import GrowingPlace
from graphfix.analysis.mended import kept
from graphfix.analysis.totals import faulty_totals
from graphfix.autograd.graph import history
from graphfix.autograd.symptoms import GROWS, SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.interpreter.values import Instance
from graphfix.model import OUTSIDE, Finding, Fix, Label, NoFix
from graphfix.repair.cut import Cut, plan
from graphfix.repair.fixes import fix, unless
from graphfix.source.quote import short


def find(evidence: Evidence) -> Iterator[Finding]:
    told = set()
    for total in faulty_totals(evidence):
        for finding in evidence.told(report, total):
            if finding.span not in told:
                told.add(finding.span)
                yield finding


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    for total in faulty_totals(evidence):
        yield from total.expressions


def report(evidence: Evidence, total: GrowingPlace) -> Finding | None:
    stores = [store for store in total.stores if evidence.program.holds(store.target)]
    chained = [store for store in total.chained if store in stores]
    local = total.is_of_script or not any(isinstance(store.place[0], Instance) for store in total.stores)
    cut = plan(evidence, total.expressions, local)
    if chained:
        blamed: ast.AST = evidence.program.statement_of(chained[0].target)
    elif cut is not None:
        blamed = evidence.program.statement_of(cut.texts[0][0])
    else:
        return None
    if cut is not None and all(evidence.program.statement_of(expression) is not blamed for expression, _ in cut.texts):
        blamed = evidence.program.statement_of(cut.texts[0][0])
    name = short(evidence.program.name_at((chained or total.chained)[0].target, blamed))
    story = [evidence.label(blamed, "every iteration adds its graph to those of all earlier iterations")]
    story.extend(other_places(evidence, total, cut, blamed))
    repair: Fix | NoFix = NoFix("the value that is added is not computed by one expression")
    if cut is not None:
        doubt = unless(total.freed or not total.escaped, f"{OUTSIDE}may use the graph of `{name}`")
        repair = fix(cut.title, *cut.operations(evidence), doubt=doubt)
    message = f"`{name}` keeps the graph of every iteration alive"
    subject = replace(kept(evidence, total, total.stores), explains=frozenset(store.target for store in total.stores))
    return RULE.finding(evidence, message, evidence.program.span(blamed), story, repair, subject=subject)


def other_places(evidence: Evidence, total: GrowingPlace, cut: Cut | None, blamed: ast.AST) -> Iterator[Label]:
    """Where else the total is fed, where it is kept, and what has freed the graphs that it holds."""
    program = evidence.program
    statements = {blamed}
    for expression, _ in cut.texts if cut is not None else ():
        statement = program.statement_of(expression)
        if statement not in statements:
            statements.add(statement)
            yield evidence.label(statement, "this adds its graph, too")
    sums = [store.target for store in total.chained if program.holds(store.target)]
    if sums and program.statement_of(sums[0]) not in statements:
        yield evidence.label(sums[0], "the sum is kept here")
    walks = [node.freed_by for store in total.chained for node in history(list(store.nodes)) if node.freed_by is not None]
    if walks and evidence.program.holds(walks[0].site):
        yield evidence.label(walks[0].site, "this backward() has freed the graph: it is not needed after this")


RULE = rule(
    "GF101",
    "accumulated-graph",
    globals(),
    find,
    cuts=cuts,
    repair="Cut the graph of what a running total, mean or moving average adds up.",
    by_hand="add numbers, as in `{} += loss.item()`, or detached tensors where a tensor is needed",
    shows=(GROWS, SECOND_WALK),
    yields_to=("GF103", "GF310", "GF903"),
)

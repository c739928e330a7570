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

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import external_nodes, statements_of
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.graph import Node
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.codemods.base import rule
from graphfix.model import Delete, Finding, Fix, Ground, InsertBefore, Move, NoFix, Operation, Replace, in_time
from graphfix.repairs.fixes import fix
from graphfix.repairs.recompute import recomputed
from graphfix.repairs.reorder import is_harmless
from graphfix.source.names import names_in
from graphfix.source.quote import short
from graphfix.source.subtree import subtree
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
    if evidence.program.holds(walk.freed_by.site) and walk.freed_by.site is not site:
        story.insert(0, evidence.label(walk.freed_by.site, "this backward() frees the graph"))
    root = walk.walk.receiver
    name = short(evidence.program.source(root)) if root is not None else "the loss"
    return RULE.finding(
        evidence,
        f"backward() is called twice on `{name}`",
        evidence.program.span(statement),
        in_time(*story),
        repair_of(evidence, walk),
        shown_by=walk,
    )


def repair_of(evidence: Evidence, walk: SecondBackward) -> Fix | NoFix:
    """Delete a second call that always raises; compute anew what a loop or a closure walks each time."""
    if not walk.always:
        return NoFix("only some runs call it twice")
    statement = evidence.program.statement_of(walk.walk.site)
    alone = isinstance(statement, ast.Expr) and statement.value is walk.walk.site
    if walk.walk.site is not walk.freed_by.site:
        if not alone or walk.loop is not None:
            return NoFix("the second call is part of a larger statement")
        if is_mere_copy(evidence, walk) or is_unused(walk):
            return fix("remove the second backward()", without_walk(evidence, walk, statement), ground=Ground.RAISES)
        return computed_again(evidence, walk)
    nodes = external_nodes(walk)
    closure = evidence.program.enclosing(walk.walk.site, (ast.FunctionDef,))
    if isinstance(walk.loop, ast.Call):
        return (
            into_closure(evidence, walk, closure)
            if isinstance(closure, ast.FunctionDef)
            else NoFix("the closure is not a `def` in this file")
        )
    return recomputed(evidence, walk, nodes, statements_of(evidence, walk, nodes))


def without_walk(evidence: Evidence, walk: SecondBackward, statement: ast.stmt) -> Delete | Replace:
    """The call goes; what computes the loss that it is called on stays, for it may do more: `step(x).backward()`."""
    loss = walk.walk.receiver
    if loss is None or not any(isinstance(part, (ast.Call, ast.Await, ast.NamedExpr)) for part in subtree(loss)):
        return Delete(evidence.program.span(statement))
    return Replace(evidence.program.span(statement), evidence.program.source(loss))


def is_mere_copy(evidence: Evidence, walk: SecondBackward) -> bool:
    """Whether nothing between the two walks can change a parameter: the second one was not meant for changed ones."""
    second = evidence.program.statement_of(walk.walk.site)
    block = evidence.program.block_of(second)
    first = next((statement for _, statement in walk.freed_by.trace if statement in block), None)  # or what it was called from
    between = block[block.index(first) + 1 : block.index(second)] if first is not None else None
    return all(
        not any(event.order > update.order > hit.freed_by.order and update.steps for update in run.recording.updates)
        and (between is None or all(is_harmless(statement, run) for statement in between))
        for run, event, hit in walk.hits
    )


def is_unused(walk: SecondBackward) -> bool:
    """Whether every gradient of the second walk is cleared before a step reads it."""
    return all(
        run.fates.leaves_below(event) and all(run.fates.is_dropped(event, leaf) for leaf in run.fates.leaves_below(event))
        for run, event, _ in walk.hits
    )


def computed_again(evidence: Evidence, walk: SecondBackward) -> Fix | NoFix:
    """The parameters have changed in between: walk the loss of a forward pass of its own, where one statement computes it."""
    root, program = walk.walk.receiver, evidence.program
    second = program.statement_of(walk.walk.site)
    block = program.block_of(second)
    made = [s for s in block if any(makes(s, list(hit.path)) for _, _, hit in walk.hits)]
    loss = made[0] if len(made) == 1 else None
    if (
        not isinstance(root, ast.Name)
        or not isinstance(loss, ast.Assign)
        or [ast.unparse(target) for target in loss.targets] != [root.id]
    ):
        return NoFix("the parameters change in between, and the loss is not computed by a single statement in the same block")
    between = block[block.index(loss) + 1 : block.index(second)]
    if names_in([loss.value], ast.Load) & names_in(between, ast.Store):
        return NoFix("the inputs of the loss change in between")
    return fix(
        f"compute `{root.id}` anew for the second backward()",
        Replace(evidence.program.span(root), program.source(loss.value)),
        doubt="the second backward() then uses the parameters as the step has left them",
    )


def into_closure(evidence: Evidence, walk: SecondBackward, closure: ast.FunctionDef) -> Fix | NoFix:
    """The optimizer calls the closure several times: move into it what computes the loss, and take the loss that `step` returns."""
    program, step, root = evidence.program, walk.loop, walk.walk.receiver
    assert isinstance(step, ast.Call)
    block = program.block_of(closure)
    moved = [s for s in block[: block.index(closure)] if makes(s, external_nodes(walk))]
    written = names_in(moved, ast.Store)
    between = [s for s in block[block.index(moved[0]) : block.index(closure)] if s not in moved] if moved else []
    if not isinstance(root, ast.Name) or root.id not in written or not all(isinstance(s, ast.Assign) for s in moved):
        return NoFix("the loss is not computed by plain assignments before the closure")
    if (names_in(moved, ast.Load) | written) & names_in(between, ast.Store) or written & names_in(between, ast.Load):
        return NoFix("statements between the loss and the closure use the same variables")
    operations: list[Operation] = [
        Move(evidence.program.span(s), evidence.program.span(program.statement_of(walk.walk.site))) for s in moved
    ]
    call = program.statement_of(step)
    scope = program.enclosing(closure, (ast.FunctionDef, ast.AsyncFunctionDef)) or program.tree_of(closure)
    later = {part.id for part in subtree(scope) if isinstance(part, ast.Name) and part.lineno > (call.end_lineno or 0)} & written
    if later:
        returns = [part.value for part in subtree(closure) if isinstance(part, ast.Return)]
        same = len(returns) == 1 and isinstance(returns[0], ast.Name) and {returns[0].id} == later
        if not same or not isinstance(call, ast.Expr) or call.value is not step or call not in block:
            return NoFix("the loss is read after the step, too")
        operations += [
            InsertBefore(evidence.program.span(call), f"{later.pop()} = {program.source(call)}"),
            Delete(evidence.program.span(call)),
        ]
    return fix(
        f"compute `{root.id}` in each call of `{closure.name}`",
        *operations,
        doubt="each call of the closure then runs a forward pass of its own",
    )


def makes(statement: ast.stmt, nodes: list[Node]) -> bool:
    return any(active is statement for node in nodes for _, active in node.trace)


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

"""Repairs for a loss that `backward()` is called on twice: the second call removed, or the loss computed again for each call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.calls_between import callers_of
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import external_nodes, statements_of
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Node
from graphfix.model import Delete, Ground, InsertBefore, Move, NoFix, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.inside import built_inside
from graphfix.repair.limits import is_harmless
from graphfix.source.names import names_in
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


def removals(evidence: Evidence, walk: SecondBackward) -> Iterator[Candidate | NoFix]:
    """A second call that always raises is removed; what a loop or a closure goes backward through each time is computed each time."""
    callers = callers_of(walk)
    if callers is None:
        yield removal(evidence, walk)
    else:
        yield from (call_removed(evidence, walk, each) for each in reversed(callers))


def call_removed(evidence: Evidence, walk: SecondBackward, caller: ast.stmt) -> Candidate | NoFix:
    """Of two calls of a function that goes backward one is removed, where nothing takes what it returns."""
    called = evidence.program.enclosing(walk.walk.site, (ast.FunctionDef,))
    calls = [part for part in subtree(caller) if isinstance(part, ast.Call)]
    alone = isinstance(caller, ast.Expr) and len(calls) == 1 and calls[0] is caller.value
    if not alone or not evidence.program.holds(caller):
        return NoFix("the call is part of a larger statement")
    does_more = not isinstance(called, ast.FunctionDef) or any(walk.walk.site not in subtree(each) for each in body_of(called))
    doubt = "the call may do more than go backward" if does_more else "the other call may be the one too many"
    title = f"remove the call `{short(evidence.program.source(caller), 30)}`"
    return reasoned(Effect.REMOVE, title, Delete(evidence.program.span(caller)), ground=Ground.RAISES, doubt=doubt)


def body_of(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function behind its docstring."""
    has_docstring = ast.get_docstring(function, clean=False) is not None
    return function.body[1:] if has_docstring else function.body


def removal(evidence: Evidence, walk: SecondBackward) -> Candidate | NoFix:
    if not walk.always:
        return NoFix("only some runs call it twice")
    statement = evidence.program.statement_of(walk.walk.site)
    alone = isinstance(statement, ast.Expr) and statement.value is walk.walk.site
    if walk.walk.site is not walk.freed_by.site:
        if not alone or walk.loop is not None:
            return NoFix("the second call is part of a larger statement")
        if is_mere_copy(evidence, walk) or is_unused(walk):
            gone = without_walk(evidence, walk, statement)
            return reasoned(Effect.REMOVE, "remove the second backward()", gone, ground=Ground.RAISES)
        return NoFix("the parameters change in between, so that the second call may be meant for changed ones")
    nodes = external_nodes(walk)
    closure = evidence.program.enclosing(walk.walk.site, (ast.FunctionDef,))
    if isinstance(walk.loop, ast.Call):
        return (
            into_closure(evidence, walk, closure)
            if isinstance(closure, ast.FunctionDef)
            else NoFix("the closure is not a `def` in this file")
        )
    return built_inside(evidence, walk, nodes, statements_of(evidence, walk, nodes))


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
        event.leaves and all(run.fates.is_dropped(event, leaf) for leaf in event.leaves)
        for run, event, _ in walk.hits
    )


def into_closure(evidence: Evidence, walk: SecondBackward, closure: ast.FunctionDef) -> Candidate | NoFix:
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
    return reasoned(
        Effect.INSIDE,
        f"compute `{root.id}` in each call of `{closure.name}`",
        *operations,
        ground=Ground.UNUSED,
        doubt="each call of the closure then runs a forward pass of its own",
    )


def makes(statement: ast.stmt, nodes: list[Node]) -> bool:
    return any(active is statement for node in nodes for _, active in node.trace)

"""Repairs for two losses of one iteration that share a graph: one backward pass through their sum, or the graph kept for the later one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.passed_flags import PassedFlag, passed_flag
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.backward import BackwardPass, WalkKind
from graphfix.interpreter.recording import Store, StoreKind
from graphfix.model import AddArgument, Delete, Ground, InsertAfter, InsertBefore, NoFix, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.fixes import unless
from graphfix.repair.limits import is_harmless
from graphfix.repair.witness import Witness
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

ONLY_SOME = "only in some runs has an earlier backward() freed the graph"
ONCE = "call backward() on the sum of the losses once"
KEEPS = "keep the graph for the backward() that follows"


def joins(evidence: Evidence, walk: SecondBackward) -> Iterator[Candidate | NoFix]:
    """One backward pass for several losses that share a graph, or the graph kept for the later one."""
    site = walk.walk.site
    walks = [each for each in evidence.second_backwards if each.cause is Cause.SEQUENTIAL and each.walk.site is site]
    yield joined(evidence, walks or [walk])


def joined(evidence: Evidence, walks: list[SecondBackward]) -> Candidate | NoFix:
    """The same for all pairs of backward passes of which the later one is the same call."""
    doubt = unless(all(walk.always for walk in walks), ONLY_SOME)
    doubt = doubt or unless(
        not any(trains_two(walk) for walk in walks),
        "two optimizers train what both losses share, where a `.detach()` may be meant",
    )
    walk = walks[0]
    if walk.loop is not None:
        return summed_loop(evidence, walk) if len(walks) == 1 else NoFix("several loops go through the freed graph")
    frees = list(dict.fromkeys(walk.freed_by.site for walk in walks))
    if not all(evidence.program.holds(free) and isinstance(free, ast.Call) for free in frees):
        return NoFix("the graph is not freed by a call of backward() in the analysed code")
    if len(frees) == 1 and len(walks) == 1:
        from graphfix.obligations.merged_backwards import Joined  # asks the flow, which nobody needs without a finding

        summed = summed_pair(evidence, walk)
        if summed is not None and not any(Joined(evidence).told_apart()):
            return reasoned(Effect.JOIN, ONCE, *summed, ground=Ground.JOINED, doubt=doubt)
    flags = [passed_flag(event, "retain_graph") for event in freeing(walks)]
    if all(flag is not None and evidence.program.holds(flag.call) for flag in flags):
        passed = {flag.call: says_yes(evidence, flag) for flag in flags if flag is not None}
        return reasoned(Effect.RETAIN, KEEPS, *passed.values(), ground=Ground.JOINED, doubt=doubt)
    if any(walk.freed_by.keyword is not None for walk in walks) or any(k.arg is None for free in frees for k in free.keywords):
        return NoFix("`retain_graph` is passed already, but is not always true")
    changes = tuple(AddArgument(evidence.program.span(free), "retain_graph", "True") for free in frees)
    return reasoned(Effect.RETAIN, KEEPS, *changes, ground=Ground.JOINED, doubt=doubt)


def freeing(walks: list[SecondBackward]) -> list[BackwardPass]:
    """The backward passes that free what others need."""
    return list(dict.fromkeys(hit.freed_by for walk in walks for _, _, hit in walk.hits))


def says_yes(evidence: Evidence, flag: PassedFlag) -> Operation:
    """The call that decides about `retain_graph` says yes."""
    if flag.value is not None:
        return Replace(evidence.program.span(flag.value), "True")
    return AddArgument(evidence.program.span(flag.call), flag.name, "True")


def trains_two(walk: SecondBackward) -> bool:
    """Whether the gradients of the second walk are stepped by several optimizers: then a `detach()` may have been meant."""
    return any(
        len({u.leaves for u in run.recording.updates if u.steps and u.leaves & event.leaves}) > 1
        for run, event, _ in walk.hits
    )


def summed_pair(evidence: Evidence, walk: SecondBackward) -> tuple[Operation, ...] | None:
    """`a.backward(); b.backward()` next to each other become `(a + b).backward()`."""
    program = evidence.program
    first, second = program.statement_of(walk.freed_by.site), program.statement_of(walk.walk.site)
    block = program.block_of(second)
    if not (plain_walk(first, walk.freed_by) and plain_walk(second, walk.walk)) or first not in block:
        return None
    if block.index(second) != block.index(first) + 1:
        return None
    one, two = walk.freed_by.receiver, walk.walk.receiver
    assert one is not None and two is not None
    if not (isinstance(one, (ast.Name, ast.Attribute)) and isinstance(two, (ast.Name, ast.Attribute, ast.BinOp))):
        return None
    text = f"{program.source(one)} + {program.source(two)}"
    return Delete(evidence.program.span(first)), Replace(evidence.program.span(two), text)


def plain_walk(statement: ast.stmt, walk: BackwardPass) -> bool:
    """A statement that is nothing but `loss.backward()`."""
    return (
        isinstance(statement, ast.Expr)
        and statement.value is walk.site
        and walk.kind is WalkKind.METHOD
        and not walk.site.args
        and not walk.site.keywords
    )


def summed_loop(evidence: Evidence, walk: SecondBackward) -> Candidate | NoFix:
    """`for loss in losses: walk(loss)` becomes one walk over a sum: of the items, or of what the loop computes."""
    loop, site = walk.loop, walk.walk.site
    if not isinstance(loop, ast.For) or not evidence.program.holds(loop) or loop.orelse:
        return NoFix("the loop over the losses is not a plain `for` loop in this file")
    if any(isinstance(part, (ast.Break, ast.Continue, ast.Return)) for part in subtree(loop)):
        return NoFix("the loop may end before all losses are computed")
    body = (
        [evidence.program.statement_of(site)] if any(s is evidence.program.statement_of(site) for s in loop.body) else loop.body
    )
    doubt = unless(walk.always, ONLY_SOME)
    summed = sum_of_items(evidence, walk, loop) if len(loop.body) == 1 else None
    if summed is not None:
        return reasoned(Effect.JOIN, ONCE, *summed, ground=Ground.JOINED, doubt=doubt)
    statement = body[0]
    if len(body) != 1 or walk.freed_by.site is not site or not plain_walk(statement, walk.walk) or walk.walk.receiver is None:
        return NoFix("the loop's backward() is not a plain `loss.backward()` directly in the loop body")
    rest = [s for s in loop.body if s is not statement]
    if any(update_in(run, loop) or not all(is_harmless(s, run) for s in rest) for run, _, _ in walk.hits):
        return NoFix("the loop steps, clears gradients or does something else between the losses")
    root = evidence.program.source(walk.walk.receiver)
    if not rest:
        text = f"sum({root} for {evidence.program.source(loop.target)} in {evidence.program.source(loop.iter)}).backward()"
        replaced = (InsertBefore(evidence.program.span(loop), text), Delete(evidence.program.span(loop)))
        return reasoned(Effect.JOIN, ONCE, *replaced, ground=Ground.JOINED, doubt=doubt)
    total = evidence.program.file_of(loop).fresh("total_loss", "summed_loss", "loss_sum")
    return reasoned(
        Effect.JOIN,
        "add the losses up and call backward() on the sum once",
        InsertBefore(evidence.program.span(loop), f"{total} = 0"),
        InsertBefore(evidence.program.span(statement), f"{total} = {total} + {parenthesized(walk.walk.receiver, root)}"),
        Delete(evidence.program.span(statement)),
        InsertAfter(evidence.program.span(loop), f"{total}.backward()"), ground=Ground.JOINED, doubt=doubt,
    )  # fmt: skip


def parenthesized(node: ast.expr, text: str) -> str:
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"


def update_in(run: Run, loop: ast.AST) -> bool:
    """Whether gradients are stepped with or cleared inside of the loop."""
    inside = set(subtree(loop))
    return any(statement in inside for update in run.recording.updates for _, statement in update.trace)


def sum_of_items(evidence: Evidence, walk: SecondBackward, loop: ast.For) -> tuple[Operation, ...] | None:
    """One call over `sum(losses)` where the loop does nothing but hand each item to a function that walks it."""
    body = loop.body[0]
    if not isinstance(body, ast.Expr) or not isinstance(body.value, ast.Call) or not isinstance(loop.iter, ast.Name):
        return None
    if not isinstance(loop.target, ast.Name) or not is_linear(walk):
        return None
    uses = [part for part in subtree(body) if isinstance(part, ast.Name) and part.id == loop.target.id]
    keys = (part.slice for part in subtree(body) if isinstance(part, ast.Subscript))
    if len(uses) != 1 or any(uses[0] in subtree(key) for key in keys):
        return None  # of a key, no sum is taken
    total = f"sum({evidence.program.source(loop.iter)})"
    start, use = evidence.program.span(body).start, evidence.program.span(uses[0])
    data = evidence.program.source(body).encode()
    joined = (data[: use.start - start] + total.encode() + data[use.end - start :]).decode()
    return InsertBefore(evidence.program.span(loop), joined), Delete(evidence.program.span(loop))


def is_linear(walk: SecondBackward) -> bool:
    """Whether between the loop's item and the walked root lies nothing but scaling by a number: then the sum's walk is the sum of walks."""
    for _, _, hit in walk.hits:
        for node in hit.path:
            if any(isinstance(store, Store) and store.kind is StoreKind.ITEM for store in node.stores):
                break
            scales = isinstance(node.site, ast.BinOp) and isinstance(node.site.op, (ast.Mult, ast.Div)) and len(node.parents) == 1
            if not scales:
                return False
    return True


def retained(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """`retain_graph` for the backward pass that frees what another one of the same iteration needs."""
    program, free = evidence.program, witness.spoiler
    frees = any(event.site is free for event in witness.run.recording.walks)
    if witness.cause is not Cause.SEQUENTIAL or not frees or not isinstance(free, ast.Call) or not program.holds(free):
        return
    if any(keyword.arg in (None, "retain_graph") for keyword in free.keywords):
        return
    value = all_but_the_last(evidence, witness) or "True"
    yield Candidate(
        Effect.RETAIN,
        KEEPS,
        (AddArgument(program.span(free), "retain_graph", value),),
        Ground.JOINED,
        "a `.detach()`, or one backward() on the sum of the losses, may be meant",
    )


def all_but_the_last(evidence: Evidence, witness: Witness) -> str | None:
    """What is true in all iterations but the last one of the loop whose iterations share the graph."""
    loop = witness.loop
    if not isinstance(loop, ast.For) or not evidence.program.holds(loop):
        return None
    items, target = loop.iter, loop.target
    if not isinstance(items, ast.Call) or len(items.args) != 1 or items.keywords:
        return None
    count, counter = items.args[0], target.elts[0] if isinstance(target, ast.Tuple) else target
    if not isinstance(counter, ast.Name):
        return None
    if word(items.func) == "enumerate" and isinstance(count, (ast.Name, ast.Attribute)):
        return f"{counter.id} < len({evidence.program.source(count)}) - 1"
    if word(items.func) == "range" and counter is target:
        return f"{counter.id} < {evidence.program.source(count)} - 1"
    return None

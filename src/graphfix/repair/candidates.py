"""The grammar of repairs: for each effect the edits that may have it, at each point of a witness's path."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from graphfix.analysis.call_graph import word
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause
from graphfix.autograd.graph import Node
from graphfix.interpreter.values import Value
from graphfix.model import AddArgument, Append, Ground, InsertBefore, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.recompute import moved_up, recomputed, recomputed_whole
from graphfix.repair.resets import resets, resets_between, unconditional
from graphfix.repair.witness import Witness, expressions_of
from graphfix.repairs.shapes import detached
from graphfix.source.quote import short


def candidates(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """All edits of the grammar for a backward pass that raises, in no order of merit."""
    yield from parts(evidence, witness)
    yield from resets(evidence, witness)
    yield from resets_between(evidence, witness)
    yield from unconditional(evidence, witness)
    yield from cuts(evidence, witness)
    yield from retained(evidence, witness)
    yield from moved_up(evidence, witness)
    yield from recomputed(evidence, witness)
    yield from recomputed_whole(evidence, witness)


def parts(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """`loss.backward()` in place of `total.backward()`, where the total becomes a number."""
    root, adding = witness.event.receiver, witness.entering
    site = adding.site if adding is not None else None
    if root is None or adding is None or not isinstance(site, (ast.BinOp, ast.AugAssign)) or not isinstance(site.op, ast.Add):
        return
    sides = [site.value] if isinstance(site, ast.AugAssign) else [site.left, site.right]
    new = [side for side in sides if ast.unparse(side) != ast.unparse(root)]
    if len(new) != 1 or not evidence.program.holds(new[0]) or not evidence.program.holds(root):
        return
    program, part = evidence.program, new[0]
    text = program.source(part)
    before: tuple[Operation, ...] = ()
    if not isinstance(part, ast.Name):
        statement = program.statement_of(part)
        name = program.file_of(part).fresh("loss", "step_loss", "new_loss")
        before = (InsertBefore(program.span(statement), f"{name} = {text}"),)
        text = name
    cut: Operation = Append(program.span(part), ".detach()") if not before else Replace(program.span(part), f"{text}.detach()")
    yield Candidate(
        Effect.PART,
        f"call backward() on `{short(text, 30)}` alone",
        (*before, cut, Replace(program.span(root), text)),
        Ground.FREED,
        f"each backward() then trains with the new loss alone, and `{short(ast.unparse(root), 30)}` is only added up",
    )


def cuts(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """`.detach()`, in the form that the value needs, behind each expression that has the old graph."""
    for expression, value in expressions_of(evidence, witness.old).items():
        doubt = f"the code does not show whether training is to reach what has computed `{short(ast.unparse(expression), 20)}`"
        yield from cut(evidence, expression, value, Ground.FREED, doubt)


def kept(evidence: Evidence, nodes: Collection[Node]) -> Iterator[Candidate]:
    """The same behind each expression that has a graph which a place keeps."""
    for expression, value in expressions_of(evidence, tuple(nodes)).items():
        doubt = f"code outside of the analysed code may use the graph of `{short(ast.unparse(expression), 20)}`"
        yield from cut(evidence, expression, value, Ground.UNUSED, doubt)


def cut(evidence: Evidence, expression: ast.expr, value: Value, ground: Ground, doubt: str) -> Iterator[Candidate]:
    """One expression without its graph, if its value is of a kind that is known in all runs."""
    if isinstance(getattr(expression, "ctx", ast.Load()), ast.Load) and expression not in evidence.facts.plain:
        program, text = evidence.program, evidence.program.source(expression)
        made = detached(value, text)
        if made is not None and made != text:
            plain = made == f"{text}.detach()"
            span = program.span(expression)
            operation: Operation = Append(span, ".detach()") if plain else Replace(span, made)
            yield Candidate(Effect.CUT, f"detach `{short(text, 30)}`", (operation,), ground, doubt)


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
        "keep the graph for the backward() that follows",
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

"""Repairs for a total: backward through its new part alone, while the total becomes a number."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.model import Append, Ground, InsertBefore, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.witness import Witness
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


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
    operations = (*before, cut, Replace(program.span(root), text))
    total = short(ast.unparse(root), 30)
    if is_log(evidence, witness, site):
        title = f"call backward() on `{short(text, 30)}` and keep `{total}` as a log"
        yield Candidate(Effect.PART, title, operations, Ground.FREED, is_reasoned=True)
        return
    doubt = f"each backward() then trains with the new loss alone, and `{total}` is only added up"
    yield Candidate(Effect.PART, f"call backward() on `{short(text, 30)}` alone", operations, Ground.FREED, doubt)


def is_log(evidence: Evidence, witness: Witness, adding: ast.AST) -> bool:
    """Whether a total that each iteration goes backward through is read outside of its loop, too, and filled in one place."""
    walk, loop = witness.shown, witness.loop
    if not isinstance(walk, SecondBackward) or walk.cause is not Cause.TOTAL or not walk.always or loop is None:
        return False
    if not isinstance(adding, ast.AugAssign) or not isinstance(adding.value, ast.Name):
        return False
    bound = (part for part in subtree(loop) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load))
    filled = [part for part in bound if part.id in walk.carriers]
    root = walk.walk.receiver
    return filled == [adding.target] and isinstance(root, ast.Name) and root.id in walk.carriers and is_logged(evidence, witness)


def is_logged(evidence: Evidence, witness: Witness) -> bool:
    """Whether a total is read outside of the loop whose iterations meet in it."""
    loop = witness.loop
    if loop is None or not evidence.program.holds(loop):
        return False
    scope = evidence.program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree_of(loop)
    inside = set(subtree(loop))
    return any(
        isinstance(part, ast.Name) and part.id in witness.carriers and isinstance(part.ctx, ast.Load) and part not in inside
        for part in subtree(scope)
    )

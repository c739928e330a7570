"""Repairs that run a part of the forward pass once more, where parameters have changed since, or take the gradients before they do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Store, StoreKind
from graphfix.model import Ground, InsertBefore, Move, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.resets import LOOPS, around
from graphfix.repair.witness import Witness, uses_of
from graphfix.source.names import names_in
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

AGAIN = "the forward pass then runs once more, with the parameters as the step has left them"
EARLIER = "the gradients are then taken before the parameters that they go through change"


def recomputed(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """What computed a variable once more: in its place where it is read too late, or at the top of the loop that reads it."""
    program = evidence.program
    nodes = tuple(node for node in witness.path if node.order < witness.since)
    for expression, use, _ in uses_of(evidence, nodes):
        if not isinstance(expression, ast.Name) or use.order < witness.since:
            continue
        made = assignment_of(evidence, expression.id, nodes)
        if made is None or changes_between(evidence, made, expression):
            continue
        text = program.source(made.value)
        whole = text if isinstance(made.value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)) else f"({text})"
        yield again(expression.id, text, Replace(program.span(expression), whole))
        loop = program.enclosing(expression, LOOPS)
        if isinstance(loop, LOOPS) and made not in set(subtree(loop)):
            yield again(expression.id, text, InsertBefore(program.span(loop.body[0]), program.source(made)))


def recomputed_whole(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """All assignments of the same block by which the loss is computed once more, in front of its backward pass."""
    program, site = evidence.program, witness.event.site
    if not program.holds(site):
        return
    walking = program.statement_of(site)
    block = program.block_of(walking)
    stored = (
        store.target for node in witness.path if node.order < witness.since for store in node.stores if isinstance(store, Store)
    )
    makers = {program.statement_of(target) for target in stored if isinstance(target, ast.Name) and program.holds(target)}
    chain = [each for each in block[: block.index(walking)] if each in makers and isinstance(each, ast.Assign)]
    bound = names_in(chain, ast.Store)
    between = [each for each in block[block.index(chain[0]) : block.index(walking)] if each not in chain] if chain else []
    if len(chain) > 1 and not names_in(between, ast.Store) & (names_in(chain, ast.Load) | bound):
        text = "\n".join(map(program.source, chain))
        yield again(", ".join(ast.unparse(each.targets[0]) for each in chain), text, InsertBefore(program.span(walking), text))


def again(name: str, text: str, operation: Operation) -> Candidate:
    """What computes a variable once more."""
    shown = "; ".join(line.strip() for line in text.splitlines())
    return Candidate(Effect.RECOMPUTE, f"compute `{name}` again: `{short(shown, 30)}`", (operation,), Ground.RAISES, AGAIN)


def assignment_of(evidence: Evidence, name: str, nodes: tuple[object, ...]) -> ast.Assign | None:
    """The plain assignment that gave a variable one of the `nodes`."""
    for node in nodes:
        for store in getattr(node, "stores", ()):
            if isinstance(store, Store) and store.kind is StoreKind.ASSIGNED and isinstance(store.target, ast.Name):
                statement = evidence.program.statement_of(store.target) if evidence.program.holds(store.target) else None
                is_plain = isinstance(statement, ast.Assign) and statement.targets == [store.target]
                if isinstance(statement, ast.Assign) and is_plain and store.target.id == name:
                    return statement
    return None


def changes_between(evidence: Evidence, made: ast.Assign, read: ast.expr) -> bool:
    """Whether a variable that the assignment reads is bound again before the variable that it binds is read."""
    program = evidence.program
    scope = program.enclosing(made, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or program.tree_of(made)
    if (program.enclosing(read, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) or program.tree_of(read)) is not scope:
        return True
    wanted = names_in([made.value], ast.Load)
    bound = (part for part in subtree(scope) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load))
    between = range(made.lineno, read.lineno + 1)
    return any(part.id in wanted and part.lineno in between for part in bound)


def moved_up(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """The backward pass, with the step and the clearing that belong to it, right behind what computes its loss."""
    program, root, site = evidence.program, witness.event.receiver, witness.event.site
    if not isinstance(root, ast.Name) or not program.holds(site):
        return
    walking = program.statement_of(site)
    block = program.block_of(walking)
    made = next(
        (each for each in block if isinstance(each, ast.Assign) and [ast.unparse(t) for t in each.targets] == [root.id]), None
    )
    if made is None or block.index(made) + 1 >= block.index(walking):
        return
    updating = {around(evidence, update.site, block) for update in witness.run.recording.updates if program.holds(update.site)}
    first = last = block.index(walking)
    while (
        block[first - 1] in updating
        and block[first - 1].lineno > made.lineno
        and not is_step(witness, evidence, block[first - 1], block)
    ):
        first -= 1
    while last + 1 < len(block) and block[last + 1] in updating and is_step(witness, evidence, block[last + 1], block):
        last += 1
    behind = block[block.index(made) + 1]
    if behind is not block[first]:
        moves = tuple(Move(program.span(each), program.span(behind)) for each in block[first : last + 1])
        yield Candidate(
            Effect.MOVE, f"call `{short(program.source(site), 30)}` right behind its loss", moves, Ground.RAISES, EARLIER
        )


def is_step(witness: Witness, evidence: Evidence, statement: ast.stmt, block: list[ast.stmt]) -> bool:
    """Whether a statement of a block makes an optimizer step."""
    steps = (update for update in witness.run.recording.updates if update.steps and evidence.program.holds(update.site))
    return any(around(evidence, update.site, block) is statement for update in steps)

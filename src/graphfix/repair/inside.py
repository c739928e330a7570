"""Repairs for a graph that is built before a loop and walked in it: built in each iteration, or detached."""

from __future__ import annotations

import ast

from graphfix.analysis.contributors import is_tensor_always
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import (
    are_tensors,
    bound_outside,
    external_nodes,
    gradient_is_dropped,
    statements_of,
    trained_inside,
    trained_leaves,
)
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Node
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Append, Ground, Move, NoFix
from graphfix.models.table import facts
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.fixes import unless
from graphfix.source.names import names_in, names_read_outside
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


def inside(evidence: Evidence, walk: SecondBackward) -> Candidate | NoFix:
    """What is computed before the loop: in each iteration, or detached where none of its parameters are trained by it."""
    nodes = external_nodes(walk)
    statements = statements_of(evidence, walk, nodes)
    stored = bound_outside(evidence, walk) if not statements or not are_tensors(evidence, statements) else []
    return kept_outside(evidence, walk, nodes, stored) if stored else repair_of(evidence, walk, nodes, statements)


def kept_outside(evidence: Evidence, walk: SecondBackward, nodes: list[Node], stored: list[ast.Assign]) -> Candidate | NoFix:
    """A graph that was computed elsewhere and kept: detached where it is kept, where nothing below it is trained."""
    cuts = [cut for statement in stored for cut in (of_tensors(evidence, statement.value),) if cut is not None]
    if not walk.always or trained_leaves(nodes) or len(cuts) != len(stored):
        return NoFix("it is computed from trained parameters: decide which loss should train them")
    names = ", ".join(f"`{short(ast.unparse(statement.targets[0]), 30)}`" for statement in stored)
    appended = (Append(evidence.program.span(cut), ".detach()") for cut in cuts)
    title = f"detach {names}: it is not computed from trained parameters"
    return reasoned(Effect.CUT, title, *appended, ground=Ground.UNTRAINED)


def of_tensors(evidence: Evidence, value: ast.expr) -> ast.expr | None:
    """The expression to detach in an assigned value: a tensor, or the element of a comprehension of tensors."""
    uses = evidence.facts.uses.get(value, [])
    if isinstance(value, ast.ListComp) and uses and all(
        isinstance(use.value, Sequence) and all(isinstance(item, Tensor) for item in use.value.items) for use in uses
    ):  # fmt: skip
        return value.elt
    return value if uses and is_tensor_always(evidence.facts, value) else None


def repair_of(evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt]) -> Candidate | NoFix:
    loop = walk.loop
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.program.holds(loop):
        return NoFix("the loop is not in this function")
    if not walk.always:
        return NoFix("not every iteration uses the old graph")
    if not statements or not are_tensors(evidence, statements):
        return NoFix("the graph is not built by a plain assignment in this file")
    leaves = trained_leaves(nodes)
    if not leaves:
        return detach_fix(evidence, statements, Ground.UNTRAINED, "it is not computed from trained parameters")
    shared = trained_inside(walk, leaves)
    if shared and gradient_is_dropped(walk, leaves):
        return detach_fix(evidence, statements, Ground.DROPPED, "its parameters are trained by a loss of their own")
    return built_inside(evidence, walk, nodes, statements, not shared)


def built_inside(
    evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt], safe: bool = True
) -> Candidate | NoFix:
    """Move what computes the tensor to the top of the loop, where nothing that it reads changes in between."""
    loop = walk.loop
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.program.holds(loop):
        return NoFix("the loop is not in this function")
    if not statements or not are_tensors(evidence, statements):
        return NoFix("the graph is not built by a plain assignment in this file")
    if not may_move(evidence, loop, statements):
        return NoFix("other statements before or in the loop use the same variables")
    random = any(node.random for node in nodes) or any(draws(part) for s in statements for part in subtree(s))
    top = evidence.program.span(loop.body[0])
    moves = tuple(Move(evidence.program.span(statement), top) for statement in statements)
    names = ", ".join(f"`{short(ast.unparse(s.targets[0]))}`" for s in statements if isinstance(s, ast.Assign))
    doubt = unless(not random, "every iteration would draw random numbers of its own")
    doubt = doubt or unless(
        safe, f"other losses train what {names} is computed from, so its value would change in each iteration"
    )
    return reasoned(Effect.INSIDE, f"compute {names} in each iteration", *moves, ground=Ground.RAISES, doubt=doubt)


def draws(part: ast.AST) -> bool:
    """A random draw that the tape does not see as a node of the graph, such as `torch.randn`."""
    if not isinstance(part, ast.Call):
        return False
    known = facts(ast.unparse(part.func))
    return known is not None and known.random


def detach_fix(evidence: Evidence, statements: list[ast.stmt], ground: Ground, why: str) -> Candidate | NoFix:
    last = statements[-1]
    if (
        not isinstance(last, ast.Assign)
        or not isinstance(last.targets[0], ast.Name)
        or not is_tensor_always(evidence.facts, last.value)
    ):
        return NoFix("the value built before the loop is not a single named tensor")
    cut = Append(evidence.program.span(last.value), ".detach()")
    return reasoned(Effect.CUT, f"detach `{last.targets[0].id}`: {why}", cut, ground=ground)


def may_move(evidence: Evidence, loop: ast.For | ast.AsyncFor | ast.While, statements: list[ast.stmt]) -> bool:
    """Whether the statements stand in the loop's own block or around it, nothing they read changes and nothing else reads them."""
    program = evidence.program
    block = around(evidence, loop, statements[0])
    if block is None or any(statement not in block for statement in statements):
        return False
    written = names_in(statements, ast.Store)
    read = names_in(statements, ast.Load) - written
    holder = next(item for item in block if item is loop or loop in subtree(item))
    between = block[block.index(statements[0]) : block.index(holder)]
    others: list[ast.AST] = [s for s in between if s not in statements]
    scope = program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or program.tree_of(loop)
    elsewhere = names_read_outside(scope, loop, statements, loop.lineno)
    changed = names_in(others, ast.Store) | names_in(loop.body, ast.Store)
    targets = (
        {part.id for part in subtree(loop.target) if isinstance(part, ast.Name)} if not isinstance(loop, ast.While) else set()
    )
    return (
        not (read & (changed | targets))
        and not (written & elsewhere)
        and not (written & (names_in(others, ast.Store) | names_in(loop.body, ast.Store)))
    )


def around(evidence: Evidence, loop: ast.AST, statement: ast.stmt) -> list[ast.stmt] | None:
    block = evidence.program.block_of(statement)
    return block if any(loop is item or loop in subtree(item) for item in block) else None

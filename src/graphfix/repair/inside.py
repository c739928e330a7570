"""Repairs for a graph that is built before a loop and walked in it: built in each iteration, or detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.contributors import is_tensor_always
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import (
    are_tensors,
    bound_outside,
    external_nodes,
    gradient_is_dropped,
    only_weighs,
    statements_of,
    trained_inside,
    trained_leaves,
)
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Node
from graphfix.effects.table import facts
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Append, Ground, Move, NoFix
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.fixes import unless
from graphfix.source.names import names_in, names_read_outside
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

# a run shows the steps that it makes, and not that there are no others
LATER = "a step that no simulated run makes may still train it with these gradients"
OWN_LOSS = "its parameters are trained by a loss of their own"


def inside(evidence: Evidence, walk: SecondBackward) -> Iterator[Candidate | NoFix]:
    """What is computed before the loop: in each iteration, or detached where none of its parameters are trained by it."""
    nodes = external_nodes(walk)
    statements = statements_of(evidence, walk, nodes)
    stored = bound_outside(evidence, walk) if not statements or not are_tensors(evidence, statements) else []
    if stored:
        yield kept_outside(evidence, walk, nodes, stored)
    else:
        yield from of_statements(evidence, walk, nodes, statements)


def kept_outside(evidence: Evidence, walk: SecondBackward, nodes: list[Node], stored: list[ast.Assign]) -> Candidate | NoFix:
    """A graph that was computed elsewhere and kept: detached where it is kept, where nothing below it is trained."""
    cuts = [cut for statement in stored for cut in (of_tensors(evidence, statement.value),) if cut is not None]
    ground, why, doubt = why_cut(walk, nodes)
    if not walk.always or not why or len(cuts) != len(stored):
        return NoFix("it is computed from trained parameters: decide which loss should train them")
    names = ", ".join(f"`{short(ast.unparse(statement.targets[0]), 30)}`" for statement in stored)
    appended = (Append(evidence.program.span(cut), ".detach()") for cut in cuts)
    return reasoned(Effect.CUT, f"detach {names}: {why}", *appended, ground=ground, doubt=doubt)


def why_cut(walk: SecondBackward, nodes: list[Node]) -> tuple[Ground, str, str]:
    """Why the loop trains nothing that the nodes are computed from, and the doubt about that; no reason where it does, or may."""
    leaves = trained_leaves(nodes)
    if not leaves:
        return Ground.UNTRAINED, "it is not computed from trained parameters", ""
    if all(run.is_past(event, leaf) for run, event, _ in walk.hits for leaf in leaves):
        return Ground.DROPPED, "the training of what it is computed from is over by then", LATER
    return Ground.DROPPED, "", ""


def of_tensors(evidence: Evidence, value: ast.expr) -> ast.expr | None:
    """The expression to detach in an assigned value: a tensor, or the element of a comprehension of tensors."""
    uses = evidence.facts.uses.get(value, [])
    if isinstance(value, ast.ListComp) and uses and all(
        isinstance(use.value, Sequence) and all(isinstance(item, Tensor) for item in use.value.items) for use in uses
    ):  # fmt: skip
        return value.elt
    return value if uses and is_tensor_always(evidence.facts, value) else None


def of_statements(
    evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt]
) -> Iterator[Candidate | NoFix]:
    """What statements beside the loop compute: detached, where the loop does not train it or trains it by a loss of its own; else moved into it."""
    refused = why_not(evidence, walk, statements)
    ground, why, doubt = why_cut(walk, nodes)
    leaves = trained_leaves(nodes)
    if refused or why:
        yield NoFix(refused) if refused else detach_fix(evidence, statements, ground, why, doubt)
    elif not trained_inside(walk, leaves):
        yield built_inside(evidence, walk, nodes, statements)
    elif gradient_is_dropped(walk, leaves):
        yield detach_fix(evidence, statements, Ground.DROPPED, OWN_LOSS)
    else:
        if only_weighs(walk, leaves):
            yield as_constant(evidence, walk, statements)
        yield built_again(evidence, walk, nodes, statements)


def as_constant(evidence: Evidence, walk: SecondBackward, statements: list[ast.stmt]) -> Candidate | NoFix:
    """What only weighs another loss is a constant for it; one iteration alone would have trained it, too."""
    doubt = f"in the first iteration, a loss that uses `{name_of(statements)}` trains what it is computed from, too"
    cut = detach_fix(evidence, statements, Ground.FREED, OWN_LOSS, doubt)
    return replace(cut, constant_in=walk.loop) if isinstance(cut, Candidate) else cut


def built_again(evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt]) -> Candidate | NoFix:
    """What other losses change in each iteration, computed in each."""
    again = built_inside(evidence, walk, nodes, statements)
    doubt = f"other losses train what `{name_of(statements)}` is computed from, so its value would change in each iteration"
    return replace(again, doubt=again.doubt or doubt) if isinstance(again, Candidate) else again


def name_of(statements: list[ast.stmt]) -> str:
    """What the last of the statements binds."""
    return short(ast.unparse(statements[-1]).partition(" = ")[0])


def why_not(evidence: Evidence, walk: SecondBackward, statements: list[ast.stmt]) -> str:
    """Why nothing can be said of what is computed before the loop; empty where it can."""
    if not isinstance(walk.loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.program.holds(walk.loop):
        return "the loop is not in this function"
    if not walk.always:
        return "not every iteration uses the old graph"
    if not statements or not are_tensors(evidence, statements):
        return "the graph is not built by a plain assignment in this file"
    return ""


def built_inside(evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt]) -> Candidate | NoFix:
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
    bound = dict.fromkeys(f"`{short(ast.unparse(s.targets[0]))}`" for s in statements if isinstance(s, ast.Assign))
    names = ", ".join(bound)
    doubt = unless(not random, "every iteration would draw random numbers of its own")
    return reasoned(Effect.INSIDE, f"compute {names} in each iteration", *moves, ground=Ground.RAISES, doubt=doubt)


def draws(part: ast.AST) -> bool:
    """A random draw that the tape does not see as a node of the graph, such as `torch.randn`."""
    if not isinstance(part, ast.Call):
        return False
    known = facts(ast.unparse(part.func))
    return known is not None and known.random


def detach_fix(
    evidence: Evidence, statements: list[ast.stmt], ground: Ground, why: str, doubt: str = ""
) -> Candidate | NoFix:
    last = statements[-1]
    if (
        not isinstance(last, ast.Assign)
        or not isinstance(last.targets[0], ast.Name)
        or not is_tensor_always(evidence.facts, last.value)
    ):
        return NoFix("the value built before the loop is not a single named tensor")
    cut = Append(evidence.program.span(last.value), ".detach()")
    return reasoned(Effect.CUT, f"detach `{last.targets[0].id}`: {why}", cut, ground=ground, doubt=doubt)


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

"""Repairs for a graph that is built before a loop and walked in it: built in each iteration, or detached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.contributors import is_tensor_always
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.outer_graph import (
    external_nodes,
    gradient_is_dropped,
    outer_births,
    statements_of,
    trained_inside,
    trained_leaves,
)
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.analysis.subject import Subject
from graphfix.autograd.graph import Node, history
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Append, Finding, Fix, Ground, Label, Move, NoFix, in_time
from graphfix.models.table import facts
from graphfix.repairs.fixes import Tell, fix, unless
from graphfix.source.names import names_in, names_read_outside
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


def external(evidence: Evidence, walks: list[SecondBackward], tell: Tell) -> Iterator[Finding]:
    """A finding for each computation outside of a loop that these walks meet again."""
    done: set[ast.AST] = set()
    for walk in walks:
        if walk.cause is not Cause.EXTERNAL or walk.loop is None or not evidence.program.holds(walk.walk.site):
            continue
        nodes, births = external_nodes(walk), outer_births(evidence, walk)
        if not births:
            continue
        statements = statements_of(evidence, walk, nodes)
        if not statements or not are_tensors(evidence, statements):
            stored = bound_outside(evidence, walk)
            if stored:
                done.update(stored)
                yield kept_outside(evidence, walk, nodes, stored, tell, made_once(evidence, births))
                continue
        blamed = statements[-1] if statements else evidence.program.statement_of(births[0].site)
        if blamed in done:
            continue
        done.add(blamed)
        what = short(ast.unparse(blamed.targets[0])) if isinstance(blamed, ast.Assign) else short(ast.unparse(births[0].site))
        story = met_again(evidence, blamed, walk)
        repair = repair_of(evidence, walk, nodes, statements)
        message = f"`{what}` is computed before the loop and used by every backward()"
        yield tell(
            evidence, message, evidence.program.span(blamed), story, repair, subject=made_once(evidence, births), shown_by=walk
        )


def made_once(evidence: Evidence, births: list[Node]) -> Subject:
    """The subject of a finding about what is computed before a loop: the statements that do so, and their graphs."""
    statements = (evidence.program.statement_of(node.site) for node in births if evidence.program.holds(node.site))
    return Subject(about=frozenset((*statements, *history(births))))


def met_again(evidence: Evidence, built: ast.stmt, walk: SecondBackward) -> tuple[Label, ...]:
    """The story of a graph that outlives the iteration that frees it."""
    return in_time(
        evidence.label(built, "computed once, outside the loop"),
        evidence.label(walk.walk.site, "iteration 1 frees its graph"),
        evidence.label(walk.walk.site, "in iteration 2 backward() goes through the freed graph and raises"),
    )


def bound_outside(evidence: Evidence, walk: SecondBackward) -> list[ast.Assign]:
    """The assignments, in another function, that keep the outer graph: an `__init__` that computes targets."""
    found: dict[ast.Assign, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        outside = next((node for node in hit.path if all(active is not entry for active, _ in node.context)), None)
        kept = [s for s in outside.stores if isinstance(s, Store) and s.value_site is not None] if outside is not None else []
        stores = [
            s for s in kept if isinstance(s.value, (Tensor, Sequence)) and all(active is not entry for active, _ in s.context)
        ]
        statement = (
            evidence.program.statement_of(stores[-1].target) if stores and evidence.program.holds(stores[-1].target) else None
        )
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        found[statement] = None
    return sorted(found, key=lambda s: s.lineno)


def kept_outside(
    evidence: Evidence, walk: SecondBackward, nodes: list[Node], stored: list[ast.Assign], tell: Tell, subject: Subject
) -> Finding:
    """A graph that was computed elsewhere and kept: detached where it is kept, where nothing below it is trained."""
    names = ", ".join(f"`{short(ast.unparse(statement.targets[0]), 30)}`" for statement in stored)
    cuts = [cut for statement in stored for cut in (of_tensors(evidence, statement.value),) if cut is not None]
    repair: Fix | NoFix = NoFix("it is computed from trained parameters: decide which loss should train them")
    if walk.always and not trained_leaves(nodes) and len(cuts) == len(stored):
        appended = (Append(evidence.program.span(cut), ".detach()") for cut in cuts)
        repair = fix(f"detach {names}: it is not computed from trained parameters", *appended, ground=Ground.UNTRAINED)
    story = met_again(evidence, stored[0], walk)
    message = f"{short(names, 20)} is computed before the loop and used by every backward()"
    span = evidence.program.span(stored[0])
    return tell(evidence, message, span, story, repair, subject=subject, shown_by=walk)


def of_tensors(evidence: Evidence, value: ast.expr) -> ast.expr | None:
    """The expression to detach in an assigned value: a tensor, or the element of a comprehension of tensors."""
    uses = evidence.facts.uses.get(value, [])
    if isinstance(value, ast.ListComp) and uses and all(
        isinstance(use.value, Sequence) and all(isinstance(item, Tensor) for item in use.value.items) for use in uses
    ):  # fmt: skip
        return value.elt
    return value if uses and is_tensor_always(evidence.facts, value) else None


def repair_of(evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt]) -> Fix | NoFix:
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
    return recomputed(evidence, walk, nodes, statements, not shared)


def are_tensors(evidence: Evidence, statements: list[ast.stmt]) -> bool:
    """Whether each statement binds tensors with a graph: not a module that computes one when it is built."""
    return all(isinstance(s, ast.Assign) and evidence.facts.uses.get(s.value) for s in statements)


def recomputed(
    evidence: Evidence, walk: SecondBackward, nodes: list[Node], statements: list[ast.stmt], safe: bool = True
) -> Fix | NoFix:
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
    return fix(f"compute {names} in each iteration", *moves, ground=Ground.RAISES, doubt=doubt)


def draws(part: ast.AST) -> bool:
    """A random draw that the tape does not see as a node of the graph, such as `torch.randn`."""
    if not isinstance(part, ast.Call):
        return False
    known = facts(ast.unparse(part.func))
    return known is not None and known.random


def detach_fix(evidence: Evidence, statements: list[ast.stmt], ground: Ground, why: str) -> Fix | NoFix:
    last = statements[-1]
    if (
        not isinstance(last, ast.Assign)
        or not isinstance(last.targets[0], ast.Name)
        or not is_tensor_always(evidence.facts, last.value)
    ):
        return NoFix("the value built before the loop is not a single named tensor")
    return fix(f"detach `{last.targets[0].id}`: {why}", Append(evidence.program.span(last.value), ".detach()"), ground=ground)


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

"""What a statement may cost, so that one which explodes costs itself and not what stands behind it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from graphfix.interpreter.interpreter import Interpreter, OutOfSteps
from graphfix.interpreter.values import Instance, Unknown
from graphfix.source.subtree import kept_with_node, subtree

# What is kept of the budget for the statements behind the one that runs: a part of what is left, and so many steps at most in the
# outermost block, in the blocks of its statements, and further inside, where blocks lie in blocks: 25 of them, with those of the functions
# that are entered, are no rarity. A run over training code has come to 19,000 of 30,000 steps.
PART = 4
KEPT = (3_000, 2_000, 200)
LEAST = 40  # steps, below which nothing is kept
# A statement that has used up its part once is not run to its end again, in this run or in others: it gets a part of what is left.
LABORIOUS = 4_000

# Iterations of one loop in one run, all entries together. Training code has come to 192, in networks that are built layer by layer.
MOST_TURNS = 256

S = TypeVar("S", bound=ast.stmt)


def bounded(m: Interpreter, run: Callable[[Interpreter, S], None], statement: S) -> None:
    """Run a statement that has others behind it. Where it uses up its part of the budget it is abandoned, and the run goes on."""
    frame, context, most = m.frame, m.context, m.most
    env = frame.env
    m.most = limit_of(m, statement, most)
    m.blocks += 1
    try:
        return run(m, statement)
    except OutOfSteps:
        if m.steps > most:
            raise
    finally:
        m.most = most
        m.blocks -= 1
    frame.env, m.context = env, context
    abandon(m, statement)


def rounds_now(m: Interpreter, loop: ast.For | ast.AsyncFor | ast.While, usual: int | None) -> int | None:
    """How many iterations of a loop to run, of those that there are (`usual`); one where it has been entered from so many others.

    What crosses the boundaries of loops in loops is seen long before: without this, each level of nesting doubles what all of them take.
    """
    return 1 if m.turns[loop] >= MOST_TURNS else usual


def limit_of(m: Interpreter, statement: ast.stmt, most: int) -> int:
    """The step at which a statement has used up its part of a budget that ends at `most`."""
    left = most - m.steps
    if left < LEAST:
        return most
    if statement in m.laborious:
        return m.steps + min(left // PART, LABORIOUS)
    return most - min(left // PART, KEPT[min(m.blocks, len(KEPT) - 1)])


def abandon(m: Interpreter, statement: ast.stmt) -> None:
    """Go on behind a statement whose end is not known.

    What it binds may be anything, and what it reads may have been kept or walked by what is not simulated of it.
    """
    m.laborious.add(statement)
    m.recording.ended_by = OutOfSteps
    for name in names(statement, ast.Load):
        value = m.frame.env.lookup(name)
        if value is not None:
            m.escape(value, statement, "argument")
    for name in names(statement, ast.Store):
        m.frame.env_of(name).variables[name] = Unknown(("abandoned", statement, name))
    for target in attributes(statement):
        holder = m.frame.env.lookup(target.value.id)  # type: ignore[attr-defined]
        if isinstance(holder, Instance):
            holder.attributes[target.attr] = Unknown(("abandoned", statement, target.attr, holder.serial))


@kept_with_node
def names(statement: ast.stmt, context: type[ast.expr_context]) -> tuple[str, ...]:
    """The names that a statement reads or binds."""
    return tuple(dict.fromkeys(part.id for part in subtree(statement) if isinstance(part, ast.Name) and isinstance(part.ctx, context)))


@kept_with_node
def attributes(statement: ast.stmt) -> tuple[ast.Attribute, ...]:
    """The attributes of variables that a statement sets."""
    return tuple(
        part
        for part in subtree(statement)
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and isinstance(part.value, ast.Name)
    )

"""What a statement may cost, so that one which explodes costs itself and not what stands behind it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from graphfix.interpreter.interpreter import Interpreter, OutOfSteps
from graphfix.interpreter.values import Instance, Unknown
from graphfix.source.subtree import kept_with_node, subtree

# What is left of the budget is kept, by one in so many parts, for the statements behind the one that runs. Blocks lie in blocks: of
# 30,000 steps, a statement in the eighth block has 3,000, and those behind it in each block have their own part. Of 568 runs over five
# repositories of training code none takes more than 8,000 steps.
KEPT = 4
# A statement that has used up its part once is not run to its end in the other runs, either.
LABORIOUS = 4_000
LEAST = 200  # steps, below which nothing is kept

S = TypeVar("S", bound=ast.stmt)


def bounded(m: Interpreter, run: Callable[[Interpreter, S], None], statement: S) -> None:
    """Run a statement that has others behind it. Where it uses up its part of the budget it is abandoned, and the run goes on."""
    frame, context, most = m.frame, m.context, m.most
    env = frame.env
    m.most = limit_of(m, statement, most)
    try:
        return run(m, statement)
    except OutOfSteps:
        if m.steps > most:
            raise
    finally:
        m.most = most
    frame.env, m.context = env, context
    abandon(m, statement)


def limit_of(m: Interpreter, statement: ast.stmt, most: int) -> int:
    """The step at which a statement has used up its part of a budget that ends at `most`."""
    left = most - m.steps
    if left < LEAST:
        return most
    part = left * (KEPT - 1) // KEPT
    return m.steps + (min(part, LABORIOUS) if statement in m.laborious else part)


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
            holder.attributes[target.attr] = Unknown(("abandoned", statement, target.attr, id(holder)))


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

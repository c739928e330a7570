"""Totals that still hold the losses of earlier iterations when `backward()` is called on them, and how they are told."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.analysis.subject import Tell
from graphfix.model import Finding, in_time
from graphfix.source.names import names_read_outside
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

LOOPS = (ast.For, ast.AsyncFor, ast.While)


def accumulated(evidence: Evidence, walks: list[SecondBackward], tell: Tell) -> Iterator[Finding]:
    """A finding for each total that still holds earlier iterations when it is walked."""
    done: set[tuple[ast.AST, str]] = set()
    for walk in walks:
        if walk.cause is not Cause.TOTAL or not evidence.program.holds(walk.walk.site):
            continue
        for total in walk.carriers:
            if (walk.walk.site, total) in done:
                continue
            done.add((walk.walk.site, total))
            yield from evidence.told(report, walk, total, tell)


def report(evidence: Evidence, walk: SecondBackward, total: str, tell: Tell) -> Finding:
    initial = initialiser(evidence, walk, total)
    blamed = (
        initial if initial is not None and is_for_loop(evidence, walk, initial) else evidence.program.statement_of(walk.walk.site)
    )
    story = [
        evidence.label(
            walk.walk.site, f"iteration 2 goes backward through the loss of iteration 1 again, as part of `{short(total, 20)}`"
        )
    ]
    if initial is not None:
        story.insert(0, evidence.label(initial, "initialised once, outside the loop"))
    message = f"`{short(total)}` still holds the losses of earlier iterations at its backward()"
    return tell(
        evidence,
        message,
        evidence.program.span(blamed),
        in_time(*story),
        shown_by=replace(walk, carriers={total: walk.carriers[total]}),
    )


def initialiser(evidence: Evidence, walk: SecondBackward, name: str) -> ast.Assign | None:
    """The single plain assignment to `name` outside of the loop, in the loop's function."""
    if walk.loop is None or not evidence.program.holds(walk.loop):
        return None
    scope = evidence.program.enclosing(walk.loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree_of(walk.loop)
    inside = set(subtree(walk.loop))
    found = [
        part for part in subtree(scope)
        if isinstance(part, ast.Assign) and part not in inside and len(part.targets) == 1
        and isinstance(part.targets[0], ast.Name) and part.targets[0].id == name
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def is_for_loop(evidence: Evidence, walk: SecondBackward, initial: ast.Assign) -> bool:
    """Whether the total is set up right beside the loop, in each of whose iterations an older loss comes back, and for nothing else."""
    loop, program = walk.loop, evidence.program
    if not walk.always or not isinstance(loop, LOOPS) or program.block_of(initial) is not program.block_of(loop):
        return False
    scope = program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or program.tree_of(loop)
    return ast.unparse(initial.targets[0]) not in names_read_outside(scope, loop, [initial])


def is_shown(evidence: Evidence, walk: SecondBackward, name: str) -> bool:
    """Whether the loop reads the total for more than to walk it: then it may have been meant to run through all iterations."""
    program = evidence.program
    assert walk.loop is not None
    walked = program.statement_of(walk.walk.site) if evidence.program.holds(walk.walk.site) else None
    for part in subtree(walk.loop):
        if isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load):
            statement = program.statement_of(part)
            binds = isinstance(statement, ast.Assign) and any(ast.unparse(target) == name for target in statement.targets)
            if statement is not walked and not binds and not is_handed_to(evidence, part):
                return True
    return False


def is_handed_to(evidence: Evidence, part: ast.Name) -> bool:
    """Whether a function in sight is given the total: it is the one that walks it."""
    above = evidence.program.parent(part)
    return isinstance(above, ast.Call) and part in above.args and bool(evidence.flow.calls.targets.get(above))

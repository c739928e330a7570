"""Repairs for a total that is set up once and walked in every iteration: set up in each, or kept as a log."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.model import Append, Finding, Fix, Ground, Move, NoFix, Replace, in_time
from graphfix.repairs.fixes import Tell, fix, unless
from graphfix.source.names import names_read_outside
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


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
    blamed: ast.stmt = evidence.program.statement_of(walk.walk.site)
    story = [
        evidence.label(
            walk.walk.site, f"iteration 2 goes backward through the loss of iteration 1 again, as part of `{short(total, 20)}`"
        )
    ]
    if initial is not None:
        story.insert(0, evidence.label(initial, "initialised once, outside the loop"))
    repair = repair_of(evidence, walk, total, initial)
    if initial is not None and isinstance(repair, Fix) and isinstance(repair.operations[0], Move):
        blamed = initial
    message = f"`{short(total)}` still holds the losses of earlier iterations at its backward()"
    return tell(evidence, message, evidence.program.span(blamed), in_time(*story), repair, shown_by=walk)


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


def repair_of(evidence: Evidence, walk: SecondBackward, name: str, initial: ast.Assign | None) -> Fix | NoFix:
    loop = walk.loop
    if not walk.always:
        return NoFix("not every iteration uses an older loss")
    if initial is None:
        return NoFix(f"`{short(name, 20)}` is not initialised by one plain assignment before the loop")
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
        return NoFix("the loop is not in this function")
    scope = evidence.program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree_of(loop)
    if name in names_read_outside(scope, loop, [initial]):
        return as_log(evidence, walk, name)
    if evidence.program.block_of(initial) is not evidence.program.block_of(loop):
        return NoFix(f"`{short(name, 20)}` is initialised in another block than the loop")
    return fix(
        f"initialise `{name}` in each iteration",
        Move(evidence.program.span(initial), evidence.program.span(loop.body[0])),
        ground=Ground.RAISES,
        doubt=unless(
            not is_shown(evidence, walk, name),
            f"the loop reads `{name}` elsewhere, too, where a total over all iterations may be meant",
        ),
    )


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


def as_log(evidence: Evidence, walk: SecondBackward, name: str) -> Fix | NoFix:
    """The total is read after the loop: walk the loss, keep the total as a log."""
    receiver = walk.walk.receiver
    loop = walk.loop
    assert loop is not None
    adds = [
        part for part in subtree(loop)
        if isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name) and part.target.id == name
    ]  # fmt: skip
    if len(adds) != 1 or not isinstance(adds[0].value, ast.Name) or not isinstance(receiver, ast.Name) or receiver.id != name:
        return NoFix(f"`{name}` is also read after the loop, and is not filled by a single `{name} += loss`")
    loss = adds[0].value.id
    return fix(
        f"call backward() on `{loss}` and keep `{name}` as a log", Replace(evidence.program.span(receiver), loss),
        Append(evidence.program.span(adds[0].value), ".detach()"), ground=Ground.RAISES,
    )  # fmt: skip

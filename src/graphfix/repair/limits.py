"""Repairs for a step that comes between the forward pass and the walk that needs what it saved."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from graphfix.analysis.conflicts import Conflict, Meeting, meetings
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import statement_in
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import Update
from graphfix.autograd.graph import Leaf
from graphfix.interpreter.boundaries import visible
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.values import Instance, Optimizer, TorchModule, leaves_in
from graphfix.model import AddArgument, Delete, Ground, InsertAfter, Move, NoFix, Operation
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree


def limits(evidence: Evidence, conflict: Conflict) -> Iterator[Candidate | NoFix]:
    """Each backward pass limited to the parameters that its own optimizer steps, and steps that come too early behind the last."""
    same = (each for each in meetings(evidence) if any(conflict is one for one in each.conflicts))
    yield from (reordered(evidence, meeting) for meeting in itertools.islice(same, 1))


def reordered(evidence: Evidence, meeting: Meeting) -> Candidate | NoFix:
    """The repair on which all runs agree."""
    if any(isinstance(keyword.arg, str) and keyword.arg == "inputs" for keyword in meeting.site.keywords):
        return NoFix("backward() already has `inputs`")
    answers = {repair_of(evidence, conflict) for conflict in meeting.conflicts if conflict.stale}
    return answers.pop() if len(answers) == 1 else NoFix("different runs need different fixes")


def limited(title: str, *operations: Operation, doubt: str) -> Candidate:
    return reasoned(Effect.LIMIT, title, *operations, ground=Ground.UNUSED, doubt=doubt)


def repair_of(evidence: Evidence, conflict: Conflict) -> Candidate | NoFix:
    loop = loop_of_items(evidence, conflict)
    if loop is not None:
        return one_step(evidence, conflict, loop)
    trained = trained_by(conflict.run, conflict.event)
    own = parameters_of(conflict.event.trace[-1][0], trained)
    if own is None or not trained:
        return NoFix("the code does not show which parameters this loss should train")
    restricted = AddArgument(evidence.program.span(conflict.event.site), "inputs", own)
    retained = retained_for(evidence, conflict)
    if retained is None:
        return NoFix("the backward() before is in another function")
    if not passes_stale(conflict, trained):
        return limited(
            f"limit backward() to `{own}`",
            *retained,
            restricted,
            doubt="other parameters get no gradients from this loss any more",
        )
    moved = steps_behind(evidence, conflict, trained)
    return (
        limited(
            "call both backward() before the steps",
            *retained,
            restricted,
            *moved,
            doubt="both losses are then differentiated before the first step",
        )
        if moved is not None
        else NoFix("the earlier step cannot simply move after this backward()")
    )


def trained_by(run: Run, event: BackwardPass) -> frozenset[Leaf]:
    """The parameters of the optimizers that step with the gradients of this walk."""
    fates = run.fates
    found: set[Leaf] = set()
    for update in run.recording.updates:
        if update.order > event.order and update.steps and update.leaves:
            if any(fates.is_used(event, leaf) for leaf in update.leaves & event.leaves):
                found |= update.leaves
                break
    return frozenset(found)


def parameters_of(frame: Frame, leaves: frozenset[Leaf]) -> str | None:
    """An expression for the list of exactly these parameters, by a name that the frame can see."""
    if not all(leaf.requires_grad for leaf in leaves):
        return None
    names = visible(frame)
    own = frame.env.variables
    order = sorted(names, key=lambda name: (name.split(".")[0] not in own, len(name), name))
    for name in order:
        value = names[name]
        if isinstance(value, (Instance, TorchModule)) and frozenset(leaves_in(value)) == leaves and is_module(value):
            return f"list({name}.parameters())"
    for name in order:
        if isinstance(names[name], Optimizer) and frozenset(leaves_in(names[name])) == leaves:
            return f'[p for group in {name}.param_groups for p in group["params"]]'
    return None


def is_module(value: Instance | TorchModule) -> bool:
    return isinstance(value, TorchModule) or value.is_module()


def passes_stale(conflict: Conflict, trained: frozenset[Leaf]) -> bool:
    """Whether the gradient of a parameter that this walk trains goes through a stale node."""
    above: set[object] = set()
    for node in sorted(conflict.event.below, key=lambda n: n.order):
        if any(parent in above for parent in node.parents) or trained & set(node.leaves):
            above.add(node)
    return bool(above & conflict.stale)


def retained_for(evidence: Evidence, conflict: Conflict) -> tuple[Operation, ...] | None:
    """What keeps the graph that the first walk frees; None where that cannot be said."""
    first = conflict.first
    if first is None:
        return ()
    if not evidence.program.holds(first.site) or first.keyword is not None:
        return None
    return (AddArgument(evidence.program.span(first.site), "retain_graph", "True"),)


def steps_behind(evidence: Evidence, conflict: Conflict, trained: frozenset[Leaf]) -> tuple[Operation, ...] | None:
    """Move the steps behind the walk, and drop a clearing of gradients that would come before them."""
    event, run = conflict.event, conflict.run
    frame = event.trace[-1][0]
    program = evidence.program
    walk = program.statement_of(event.site)
    block = program.block_of(walk)
    steps = sorted(conflict.steps, key=lambda update: update.order)
    found = list(dict.fromkeys(statement_in(update.trace, frame) for update in steps))
    statements = [s for s in found if s in block and is_call(s, "step")]
    if not statements or len(statements) < len(found):
        return None
    start, end = block.index(statements[0]), block.index(walk)
    stepped = frozenset(leaf for update in steps for leaf in update.leaves)
    clears = clearing(run, frame, stepped, steps[0].order, event.order)
    between = [s for s in block[start + 1 : end] if s not in statements]
    if not all(s in clears or is_harmless(s, run) for s in between) or touches(run, stepped, steps[0].order, event.order):
        return None
    operations = moved_behind(evidence, walk, statements, block)
    if clears:
        firsts = [
            walk_ for walk_ in run.recording.walks if walk_.order < steps[0].order and walk_.leaves & stepped
        ]
        first = firsts[-1] if firsts else None
        if first is None or not is_clear(run, trained, first, clears, frame) or not evidence.program.holds(first.site):
            return None
        operations.extend(Delete(evidence.program.span(s)) for s in clears)
        if first.leaves & trained:
            own = parameters_of(first.trace[-1][0], stepped)
            if own is None:
                return None
            operations.append(AddArgument(evidence.program.span(first.site), "inputs", own))
    return tuple(operations)


def moved_behind(evidence: Evidence, walk: ast.stmt, statements: list[ast.stmt], block: list[ast.stmt]) -> list[Operation]:
    """Move statements of a block behind the one that walks: with their comments where one follows it, and they share no line with others."""
    program = evidence.program
    following = block[block.index(walk) + 1 :][:1]
    rows = [row for each in block for row in {each.lineno, each.end_lineno}]
    if following and all(rows.count(each.lineno) == 1 for each in (*statements, *following)):
        return [Move(program.span(s), program.span(following[0])) for s in statements]
    text = "\n".join(program.source(s) for s in statements)
    return [*(Delete(program.span(s)) for s in statements), InsertAfter(program.span(walk), text)]


def is_call(statement: ast.stmt | None, word: str) -> bool:
    """A statement that is nothing but a call of this method."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == word


def clearing(run: Run, frame: Frame, leaves: frozenset[Leaf], start: int, end: int) -> list[ast.stmt]:
    """The statements of `frame` that clear gradients of `leaves` between two moments."""
    found: dict[ast.stmt, None] = {}
    for update in run.recording.updates:
        if start < update.order < end and not update.steps and update.leaves & leaves:
            statement = statement_in(update.trace, frame)
            if statement is not None:
                found[statement] = None
    return list(found)


def is_harmless(statement: ast.stmt, run: Run) -> bool:
    """A statement that steps nothing and of which the tape sees all that it reads: gradients cleared, losses computed, numbers printed."""
    seen = {update.site for update in run.recording.updates if not update.steps}
    seen |= {node.site for event in run.recording.walks for node in event.below}
    calls = [part for part in subtree(statement) if isinstance(part, ast.Call)]
    return all(call in seen or word(call.func) in ("item", "zero_grad", "format", "print") for call in calls)


def touches(run: Run, leaves: frozenset[Leaf], start: int, end: int) -> bool:
    """Whether a forward pass between two moments reads `leaves`."""
    return any(
        start < node.order < end and leaves & set(node.leaves)
        for event in run.recording.walks
        for node in event.below
    )


def is_clear(run: Run, leaves: frozenset[Leaf], first: BackwardPass, without: Iterable[ast.stmt], frame: Frame) -> bool:
    """Whether the gradients of `leaves` are cleared after each step even without the statements `without`."""
    dropped = set(without)
    dirty = False
    for update in sorted(run.recording.updates, key=lambda u: u.order):
        if not update.leaves & leaves:
            continue
        if update.steps:
            if dirty:
                return False
            dirty = True
        elif statement_in(update.trace, frame) not in dropped:
            dirty = False
    return True


def loop_of_items(evidence: Evidence, conflict: Conflict) -> ast.For | None:
    """The loop that walks a stored loss and steps in each iteration, where every loss was made before the loop."""
    if not conflict.event.context or conflict.freed:
        return None
    entry, iteration = conflict.event.context[-1]
    loop = entry.loop
    made_before = all(all(active is not entry for active, _ in node.context) for node in conflict.stale)
    stepped_inside = all(step_context(conflict, update) for update in conflict.steps)
    if isinstance(loop, ast.For) and evidence.program.holds(loop) and iteration and made_before and stepped_inside:
        return loop
    return None


def step_context(conflict: Conflict, update: Update) -> bool:
    loop = conflict.event.context[-1][0].loop
    return isinstance(loop, ast.For) and any(statement in loop.body for _, statement in update.trace)


def one_step(evidence: Evidence, conflict: Conflict, loop: ast.For) -> Candidate | NoFix:
    """Clear the gradients before the loop, step once behind it."""
    run, frame = conflict.run, conflict.event.trace[-1][0]
    steps = list(dict.fromkeys(statement_in(update.trace, frame) for update in conflict.steps))
    stepped = frozenset(leaf for update in conflict.steps for leaf in update.leaves)
    if any(s not in loop.body or not is_call(s, "step") for s in steps) or loop.orelse:
        return NoFix("the step in the loop is not a plain `optimizer.step()`")
    clears = [s for s in loop.body if any(statement_in(u.trace, frame) is s and not u.steps for u in run.recording.updates)]
    if any(not is_call(s, "zero_grad") for s in clears) or any(isinstance(p, (ast.Break, ast.Return)) for p in subtree(loop)):
        return NoFix("the loop may be left early, or clears gradients in its own way")
    walk = evidence.program.statement_of(conflict.event.site)
    rest = [s for s in loop.body if s not in steps and s not in clears and s is not walk]
    if walk not in loop.body or any(isinstance(s, ast.Expr) and not is_harmless(s, run) for s in rest) or not stepped:
        return NoFix("the loop does more than backward(), step() and zero_grad()")
    bound = {part.id for part in subtree(loop) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    moved = (part for s in (*steps, *clears) if s is not None for part in subtree(s))
    if any(isinstance(part, ast.Name) and part.id in bound for part in moved):
        return NoFix("each iteration uses its own optimizer")
    moves: list[Operation] = [Move(evidence.program.span(s), evidence.program.span(loop)) for s in clears]
    text = "\n".join(evidence.program.source(s) for s in steps if s is not None)
    moves.extend(Delete(evidence.program.span(s)) for s in steps if s is not None)
    return limited(
        "step once, after the loop",
        *moves,
        InsertAfter(evidence.program.span(loop), text),
        doubt="one step is made for all losses of the loop, not one for each",
    )

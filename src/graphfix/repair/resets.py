"""Repairs that let a total, a state or a container start anew: the assignment that set it, once more or elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.old_totals import initialiser, is_for_loop, is_shown
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Constant, Mapping, Value
from graphfix.model import Delete, Ground, InsertAfter, InsertBefore, Move, NoFix, Operation
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.fixes import unless
from graphfix.repair.witness import Witness
from graphfix.source.names import names_in
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

LOOPS = (ast.For, ast.AsyncFor, ast.While)
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)  # statements


def resets(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """The start value of what carries the old graph: at the top of the iteration, moved there, or behind the backward pass that uses it up."""
    loop, program = witness.loop, evidence.program
    if not isinstance(loop, LOOPS) or not program.holds(loop) or hands_on(witness):
        return
    top = program.span(loop.body[0])
    for name, start in start_values(evidence, witness, loop):
        block, text = program.block_of(start), program.source(start)
        moves = loop in block and not is_named(name, block[block.index(start) + 1 : block.index(loop)], loop)
        moves = moves and not is_read_behind(name, block, loop)
        yield reset(name, text, Move(program.span(start), top) if moves else InsertBefore(top, text))
    used = next((statement for frame, statement in witness.event.trace if frame is witness.frame), None)
    block = program.block_of(used) if used is not None and program.holds(used) else loop.body
    if block is not loop.body and block and block[-1] is not loop:
        places = {name: program.source(start) for name, start in start_values(evidence, witness, loop)}
        for name, text in {**places, **dict(starts_of_places(witness, loop))}.items():
            yield reset(name, text, InsertAfter(program.span(block[-1]), text))


def hands_on(witness: Witness) -> bool:
    """Whether the iterations hand a state on, of which the forward pass reads the numbers: to start anew would throw it away."""
    return witness.cause is Cause.CARRIED


def set_up(evidence: Evidence, walk: SecondBackward) -> Iterator[Candidate | NoFix]:
    """A total that is set up beside the loop that goes backward through it, and for nothing else: set up in each iteration."""
    name = next(iter(walk.carriers), "")
    initial = initialiser(evidence, walk, name)
    if not walk.always:
        yield NoFix("not every iteration uses an older loss")
    elif initial is None:
        yield NoFix(f"`{short(name, 20)}` is not initialised by one plain assignment before the loop")
    elif not isinstance(walk.loop, LOOPS) or not is_for_loop(evidence, walk, initial):
        yield NoFix(f"`{short(name, 20)}` is not initialised right before the loop, or is read outside of it, too")
    else:
        yield moved_in(evidence, walk, walk.loop, name, initial)


def moved_in(
    evidence: Evidence, walk: SecondBackward, loop: ast.For | ast.AsyncFor | ast.While, name: str, initial: ast.stmt
) -> Candidate:
    """The assignment that sets a total up, moved into the loop."""
    doubt = f"the loop reads `{name}` elsewhere, too, where a total over all iterations may be meant"
    doubt = unless(not is_shown(evidence, walk, name), doubt)
    move = Move(evidence.program.span(initial), evidence.program.span(loop.body[0]))
    return reasoned(Effect.RESET, f"initialise `{name}` in each iteration", move, ground=Ground.RAISES, doubt=doubt)


def unconditional(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """What the loop does only in some of its iterations, in each: a container that is emptied now and then holds old graphs until then."""
    loop, program = witness.loop, evidence.program
    if not isinstance(loop, LOOPS) or not program.holds(loop) or hands_on(witness):
        return
    for part in subtree(loop):
        is_simple = isinstance(part, ast.If) and not part.orelse and all(isinstance(each, SIMPLE) for each in part.body)
        if isinstance(part, ast.If) and is_simple and "#" not in program.source(part):  # comments would be lost
            text = "\n".join(map(program.source, part.body))
            operations = (InsertBefore(program.span(part), text), Delete(program.span(part)))
            doubt = f"`{short(program.source(part.test), 30)}` may be meant to decide about it"
            yield Candidate(Effect.RESET, f"run `{short(text, 30)}` in each iteration", operations, Ground.RAISES, doubt)


def reset(name: str, text: str, operation: Operation) -> Candidate:
    """What starts anew with the assignment `text`."""
    doubt = f"each backward() then trains with what `{short(name, 20)}` got since, and no longer with what it held before"
    return Candidate(Effect.RESET, f"start anew with `{short(text, 30)}`", (operation,), Ground.RAISES, doubt)


def starts_of_places(witness: Witness, loop: ast.stmt) -> Iterator[tuple[str, str]]:
    """The variables, attributes and items that keep the old graph, each with an assignment of the number, or None, that it held before the loop."""
    inside = set(subtree(loop))
    numbers: dict[str, str | None] = {}
    for store in (store for node in witness.path for store in node.stores if isinstance(store, Store)):
        if store.target in inside:
            name = ast.unparse(store.target)
            numbers[name] = numbers.get(name) or number_before(witness, store)
    yield from ((name, f"{name} = {number}") for name, number in numbers.items() if number is not None)


def number_before(witness: Witness, store: Store) -> str | None:
    """The number, or None, that a place held before the loop, as it is written; None where it held neither, or that is not known."""
    earlier = next((each for each in witness.run.recording.stores if each.place == store.place), store)
    found = earlier.value if earlier.order < store.order else None
    if not isinstance(found, Constant):
        found = held_before(witness, store.target)
    return repr(found.value) if isinstance(found, Constant) and isinstance(found.value, (int, float, type(None))) else None


def held_before(witness: Witness, target: ast.AST) -> Value | None:
    """What a variable, an attribute or an item held at the first iteration of the loop, as far as it was noted."""
    began = (boundary.first for boundary in witness.run.recording.boundaries if boundary.entry.loop is witness.loop)
    held = {name: value for first in began for name, (value, _) in first.items()}
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        whole = held.get(ast.unparse(target.value))
        return whole.items.get(target.slice.value) if isinstance(whole, Mapping) else None
    return held.get(ast.unparse(target))


def resets_between(evidence: Evidence, witness: Witness) -> Iterator[Candidate]:
    """The start value of a total once more, behind the backward pass that has used the total up."""
    program, free = evidence.program, witness.spoiler
    if witness.cause is not Cause.SEQUENTIAL or not program.holds(free):
        return
    freed = program.statement_of(free)
    block = program.block_of(freed)
    trace = first_above(witness).trace
    behind = next(filter(None, (around(evidence, statement, block) for _, statement in trace)), None)
    if behind is not None and block.index(behind) > block.index(freed):
        for name, start in start_values(evidence, witness, behind):
            text = program.source(start)
            yield reset(name, text, InsertBefore(program.span(behind), text))


def around(evidence: Evidence, statement: ast.AST | None, block: list[ast.stmt]) -> ast.stmt | None:
    """The statement of a block that a statement is, or lies in."""
    while statement is not None and not any(statement is each for each in block):
        statement = evidence.program.parent(statement)
    return statement if isinstance(statement, ast.stmt) else None


def first_above(witness: Witness) -> Node:
    """The oldest node of the path that was recorded after the graph was freed."""
    later = [node for node in witness.path if node.order > witness.since]
    return later[-1] if later else witness.path[0]


def start_values(evidence: Evidence, witness: Witness, loop: ast.stmt) -> Iterator[tuple[str, ast.Assign]]:
    """The names that carry the old graph into the loop's iterations, each with the plain assignment that set it before the loop."""
    inside = set(subtree(loop))
    names = dict.fromkeys(name for name in witness.carriers if "." not in name)
    stored = (store for node in witness.path for store in node.stores if isinstance(store, Store))
    names.update(dict.fromkeys(each.target.id for each in stored if isinstance(each.target, ast.Name)))
    scope = evidence.program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree_of(loop)
    for name in names:
        found = [
            part
            for part in subtree(scope)
            if isinstance(part, ast.Assign) and part not in inside and [ast.unparse(each) for each in part.targets] == [name]
        ]
        starts = [part for part in found if part.lineno < loop.lineno and is_start(witness, part, loop)]
        if starts:
            yield name, starts[-1]


def is_start(witness: Witness, made: ast.Assign, loop: ast.stmt) -> bool:
    """Whether an assignment may be made once more: what it gave had no graph, and nothing that it reads is bound in the loop."""
    recording = witness.run.recording
    if made not in recording.executed or any(store.nodes for store in recording.stores if store.target is made.targets[0]):
        return False
    return not names_in([made.value], ast.Load) & names_in([loop], ast.Store)


def is_named(name: str, statements: list[ast.stmt], loop: ast.stmt) -> bool:
    """Whether statements, or the head of the loop, name a variable."""
    heads = [
        each
        for each in (getattr(loop, "iter", None), getattr(loop, "test", None), getattr(loop, "target", None))
        if each is not None
    ]
    return any(isinstance(part, ast.Name) and part.id == name for each in (*statements, *heads) for part in subtree(each))


def is_read_behind(name: str, block: list[ast.stmt], loop: ast.stmt) -> bool:
    """Whether the statements behind the loop, or its `else`, read a variable, which may not be bound where the loop has no iteration."""
    behind = [*block[block.index(loop) + 1 :], *getattr(loop, "orelse", [])]
    return any(isinstance(part, ast.Name) and part.id == name for each in behind for part in subtree(each))

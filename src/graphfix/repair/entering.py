"""Detaching state where it enters an iteration: the expression for its shape, and the place where the detach is safe."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import SecondBackward, held_at, statement_in
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Boundary, Store
from graphfix.interpreter.values import Instance, Mapping, Sequence, Tensor, Value
from graphfix.model import Ground, InsertAfter, InsertBefore, NoFix, Operation
from graphfix.repair.at_store import detached_at_store
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.fixes import unless
from graphfix.repair.own_form import own_form
from graphfix.repair.shapes import detached
from graphfix.repair.whole_reset import reset_everywhere

ONCE = "it is computed once and cached: compute it in each iteration, or clear the cache after each step"


def only_item(value: Value) -> str:
    """The subscript of the only item of a dict that may have a graph; nothing where there are others, or it is no dict."""
    keys = (
        [key for key, item in value.items.items() if not item.is_plain] if isinstance(value, Mapping) and not value.rest else []
    )
    return f'["{keys[0]}"]' if len(keys) == 1 and isinstance(keys[0], str) and keys[0].isidentifier() else ""


def item_in(value: Value) -> Value:
    """That item, or the value itself."""
    found = (
        [item for item in value.items.values() if not item.is_plain] if only_item(value) and isinstance(value, Mapping) else []
    )
    return found[0] if found else value


def detaching(carrier: str, value: Value) -> str | None:
    """The statement that detaches what the variable `carrier` holds, or the item of a dict alone that has a graph."""
    target = f"{carrier}{only_item(value)}"
    text = detached(item_in(value), target)
    return f"{target} = {text}" if text not in (None, target) else None


def same_shape(one: Value, two: Value) -> bool:
    if isinstance(one, Sequence) and isinstance(two, Sequence):
        return len(one.items) == len(two.items) and all(same_shape(a, b) for a, b in zip(one.items, two.items))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.items.keys() == two.items.keys() and all(same_shape(one.items[key], two.items[key]) for key in one.items)
    if isinstance(one, Instance) and isinstance(two, Instance):
        return one.cls is two.cls and one.cls.is_tuple()
    return isinstance(one, Tensor) and two.may_be_tensor


def entering(evidence: Evidence, walk: SecondBackward) -> Iterator[Candidate | NoFix]:
    """One repair for all that carries the old graph into an iteration: the carriers of `walk`."""
    yield of_carriers(evidence, walk)


def of_carriers(evidence: Evidence, walk: SecondBackward) -> Candidate | NoFix:
    """The repairs for the carriers as one."""
    found = [of_carrier(evidence, carrier, walk) for carrier in walk.carriers]
    refused = next((each for each in found if isinstance(each, NoFix)), None)
    made = [each for each in found if isinstance(each, Candidate)]
    if refused is not None:
        return refused if len(found) == 1 else NoFix("they need different fixes")
    if len({each.operations for each in made}) == 1:
        return made[0]
    if len({not each.doubt for each in made}) > 1:
        return NoFix("they need different fixes")
    first, operations = made[0], [operation for each in made for operation in each.operations]
    others = f"`{list(walk.carriers)[1]}`" if len(made) == 2 else f"{len(made) - 1} more"
    return reasoned(first.effect, f"{first.title}, and {others}", *operations, ground=first.ground, doubt=first.doubt)


def of_carrier(evidence: Evidence, carrier: str, walk: SecondBackward) -> Candidate | NoFix:
    """The repair for one variable or attribute."""
    if is_computed_once(walk, walk.carriers[carrier]):
        return NoFix(ONCE)
    return reset_everywhere(evidence, carrier, walk) or at_boundary(evidence, walk.loop, carrier, walk)


def is_computed_once(walk: SecondBackward, node: Node) -> bool:
    """Whether a function whose results are kept has made it: what is detached there is trained no more."""
    keeping = {function.definition for run, _, _ in walk.hits for function in run.recording.memos}
    return any(frame.definition in keeping for frame, _ in node.trace)


def at_boundary(evidence: Evidence, loop: ast.AST | None, carrier: str, walk: SecondBackward) -> Candidate | NoFix:
    """Detach `carrier` once per iteration of `loop`, where every walk over what it holds would raise."""
    if loop is None or not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.program.holds(loop):
        return detached_at_store(evidence, carrier, walk)
    seen = held_at(evidence.tape, loop, carrier)
    statements = {detaching(carrier, value) for _, value, _, _ in seen}
    statement = statements.pop() if len(statements) == 1 else None
    if statement != f"{carrier} = {carrier}.detach()":
        own = own_form(evidence, loop)
        statement = f"{carrier} = {own}({carrier})" if own is not None else statement
    if statement is None:
        return NoFix(f"`{carrier}` holds values of different or unknown types")
    freed = all(was_freed and not unfreed for _, _, was_freed, unfreed in seen)
    operation = placed(evidence, loop, carrier, walk, seen, statement)
    if operation is None:
        return NoFix(f"no single place in the loop is certain to see `{carrier}` after its graph is freed")
    doubt = unless(freed, f"in some runs no backward() has freed the graph of `{carrier}` by then, and training may use it")
    return reasoned(Effect.CUT, f"detach `{carrier}` where it enters the iteration", operation, ground=Ground.FREED, doubt=doubt)


def placed(
    evidence: Evidence, loop: ast.For | ast.AsyncFor | ast.While, carrier: str, walk: SecondBackward,
    seen: list[tuple[Boundary, Value, bool, bool]], statement: str,
) -> Operation | None:  # fmt: skip
    """At the top of the body where the first iteration's value has the same shape and no graph, else after the walk."""
    firsts = [(boundary.first.get(carrier), value) for boundary, value, _, _ in seen]
    top = evidence.program.span(loop.body[0])
    if all(first is not None and first[1] and same_shape(first[0], value) for first, value in firsts):
        return InsertBefore(top, statement)
    after = statement_in(walk.freed_by.trace, walk.frame)
    if after is not None and after is not loop and evidence.program.holds(after):
        crossing = walk.carriers[carrier]
        last = max((s.order for s in crossing.stores if isinstance(s, Store)), default=0)
        inner = evidence.program.enclosing(after, (ast.For, ast.While, ast.AsyncFor, ast.FunctionDef))
        if inner is loop and last < walk.freed_by.order:
            return InsertAfter(evidence.program.span(after), statement)
    if all(first is not None and (first[1] and same_shape(first[0], value) or first[0].is_none) for first, value in firsts):
        return InsertBefore(top, f"if {carrier} is not None:\n    {statement}")
    return None

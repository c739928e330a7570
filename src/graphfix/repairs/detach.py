"""Detaching state where it enters an iteration: the expression for its shape, and the place where the detach is safe."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.carried import by_carrier, kept_at
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import SecondBackward, held_at, statement_in
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import Context
from graphfix.autograd.symptoms import SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.interpreter.recording import Boundary, Store
from graphfix.interpreter.values import Instance, Mapping, Sequence, Tensor, Value
from graphfix.model import Finding, Fix, Ground, InsertAfter, InsertBefore, Label, NoFix, Operation, in_time
from graphfix.repairs.at_store import detached_at_store
from graphfix.repairs.fixes import Tell, fix, unless
from graphfix.repairs.shapes import detached
from graphfix.repairs.whole_reset import reset_everywhere

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
    return f"{target} = {text}" if text is not None else None


def same_shape(one: Value, two: Value) -> bool:
    if isinstance(one, Sequence) and isinstance(two, Sequence):
        return len(one.items) == len(two.items) and all(same_shape(a, b) for a, b in zip(one.items, two.items))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.items.keys() == two.items.keys() and all(same_shape(one.items[key], two.items[key]) for key in one.items)
    if isinstance(one, Instance) and isinstance(two, Instance):
        return one.cls is two.cls and one.cls.is_tuple()
    return isinstance(one, Tensor) and two.may_be_tensor


def carried(evidence: Evidence, walks: list[SecondBackward], attributes: bool, tell: Tell) -> Iterator[Finding]:
    """Findings for state that crosses the boundary of a loop: in attributes, or in plain names."""
    found: dict[tuple[ast.AST | None, object], list[tuple[str, Finding]]] = {}
    for (loop, carrier), group in by_carrier(walks).items():
        if ("." in carrier) is attributes:
            for finding in evidence.told(carried_finding, loop, carrier, group, tell):
                found.setdefault((loop, tuple(label.span for label in finding.story)), []).append((carrier, finding))
    for alike in found.values():
        yield as_one(sorted(alike, key=lambda pair: pair[0]))


def as_one(alike: list[tuple[str, Finding]]) -> Finding:
    """Objects of one class that keep the same state, such as the layers of a network, are one fault: each carrier with its finding."""
    name, first = alike[0]
    fixes = [finding.fix for _, finding in alike if finding.fix is not None]
    if len(alike) == 1:
        return first
    message = f"`{name}` and {len(alike) - 1} more bring the graph of the previous iteration into this one"
    if len(fixes) == len(alike) and len({each.operations for each in fixes}) == 1:
        return replace(first, message=message, fix=fixes[0])
    if len(fixes) == len(alike) and len({each.applicability for each in fixes}) == 1:
        operations = [operation for each in fixes for operation in each.operations]
        repair = fix(f"{fixes[0].title}, and {len(alike) - 1} more", *operations, ground=fixes[0].ground, doubt=fixes[0].doubt)
        return replace(first, message=message, fix=repair)
    return replace(first, message=message).without_fix("they need different fixes")


def carried_finding(
    evidence: Evidence, loop: ast.AST | None, carrier: str, group: list[SecondBackward], tell: Tell
) -> Finding | None:
    walk = group[0]
    crossing = walk.carriers[carrier]
    where = kept_at(evidence, loop, carrier, walk)
    if where is None:
        return None
    born, again = number_of(crossing.context, loop, 1), number_of(walk.walk.context, loop, 2)
    site = walk.walk.site if evidence.program.holds(walk.walk.site) else None
    story: list[Label] = [evidence.label(where, f"iteration {born} leaves its graph in `{carrier}`")]
    if site is not None:
        # the older part: of a state that is read one iteration late
        oldest = min(number_of(hit.node.context, loop, born) for _, _, hit in walk.hits)
        part = "that graph" if oldest == born else "the older part of that graph"
        story.append(evidence.label(site, f"iteration {number_of(walk.freed_by.context, loop, 1)} frees {part}"))
    below = next(
        (hit.path[hit.path.index(crossing) - 1] for _, _, hit in walk.hits if crossing in hit.path and hit.path.index(crossing)),
        None,
    )
    if below is not None and evidence.program.holds(below.site) and below.site is not where:
        story.append(evidence.label(below.site, f"iteration {again} reads the `{carrier}` of iteration {born} here"))
    stale = meets_changed_first(walk)
    if site is not None:
        met = "needs parameters that a step has changed since," if stale else "goes through the freed graph"
        story.append(evidence.label(site, f"in iteration {again} backward() {met} and raises"))
    blamed = evidence.program.statement_of(where)
    repair: Fix | NoFix | None = NoFix(ONCE) if is_computed_once(walk, crossing) else reset_everywhere(evidence, carrier, walk)
    repair = repair or boundary_fix(evidence, loop, carrier, walk)
    message = f"`{carrier}` brings the graph of the previous iteration into this one"
    return tell(
        evidence,
        message,
        evidence.program.span(blamed),
        in_time(*story),
        repair,
        shown=WRITTEN_IN_PLACE if stale else SECOND_WALK,
        shown_by=walk,
    )


def is_computed_once(walk: SecondBackward, node: Node) -> bool:
    """Whether a function whose results are kept has made it: what is detached there is trained no more."""
    keeping = {function.definition for run, _, _ in walk.hits for function in run.recording.memos}
    return any(frame.definition in keeping for frame, _ in node.trace)


def meets_changed_first(walk: SecondBackward) -> bool:
    """Whether autograd, which takes the youngest node first, meets a saved leaf with a newer version before anything freed."""
    changed = max((stale.node.order for stale in walk.walk.stale if stale.certain), default=-1)
    freed = max((hit.node.order for hit in walk.walk.hits if hit.certain), default=-1)
    return changed > freed


def number_of(context: Context, loop: ast.AST | None, unknown: int) -> int:
    """Which iteration of `loop`, from 1, something happens in; `unknown` where it lies in none."""
    return max((1 + iteration for entry, iteration in context if entry.loop is loop), default=unknown)


def boundary_fix(evidence: Evidence, loop: ast.AST | None, carrier: str, walk: SecondBackward) -> Fix | NoFix:
    """Detach `carrier` once per iteration of `loop`, where every walk over what it holds would raise."""
    if loop is None or not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)) or not evidence.program.holds(loop):
        return detached_at_store(evidence, carrier, walk)
    seen = held_at(evidence.tape, loop, carrier)
    statements = {detaching(carrier, value) for _, value, _, _ in seen}
    statement = statements.pop() if len(statements) == 1 else None
    if statement is None:
        return NoFix(f"`{carrier}` holds values of different or unknown types")
    freed = all(was_freed and not unfreed for _, _, was_freed, unfreed in seen)
    operation = placed(evidence, loop, carrier, walk, seen, statement)
    if operation is None:
        return NoFix(f"no single place in the loop is certain to see `{carrier}` after its graph is freed")
    doubt = unless(freed, f"in some runs no backward() has freed the graph of `{carrier}` by then, and training may use it")
    return fix(f"detach `{carrier}` where it enters the iteration", operation, ground=Ground.FREED, doubt=doubt)


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

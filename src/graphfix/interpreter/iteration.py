"""What a loop over a value sees."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.interpreter.conditions import without_offset
from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.shapes import OTHER
from graphfix.interpreter.values import (
    NONE,
    Constant,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Parameters,
    Sequence,
    Tensor,
    TorchModule,
    Unknown,
    Value,
    counter,
)
from graphfix.source.subtree import kept_with_node, subtree

LOOP_LIMIT = 4
MOST_OBJECTS = 12


@kept_with_node
def rounds(loop: ast.AST | None) -> int:
    """How many iterations of a loop show what crosses its boundary: two, and one more for each name that hands on what a name held.

    After `older, old = old, h` it is the third iteration that reads the `h` of the first.
    """
    if not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
        return 2
    handed: dict[str, tuple[str, int]] = {}
    bound: dict[str, int] = {}
    for statement in (part for each in loop.body for part in subtree(each) if isinstance(part, ast.Assign)):
        for target, value in pairs(statement):
            bound[ast.unparse(target)] = statement.lineno
            if isinstance(value, (ast.Name, ast.Attribute)):
                handed[ast.unparse(target)] = ast.unparse(value), statement.lineno
    later = {name: source for name, (source, line) in handed.items() if bound.get(source, 0) >= line}
    return min(2 + max((chain(later, name) for name in later), default=0), LOOP_LIMIT)


def pairs(statement: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Each target of an assignment with what it gets, where that is written there."""
    value = statement.value
    for target in statement.targets:
        if not isinstance(target, (ast.Tuple, ast.List)):
            yield target, value
        elif isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
            yield from zip(target.elts, value.elts)
        else:
            yield from ((part, None) for part in target.elts)


def chain(handed: dict[str, str], name: str) -> int:
    """How often what `name` gets has been handed on."""
    seen: list[str] = []
    while name in handed and name not in seen:
        seen.append(name)
        name = handed[name]
    return len(seen)


def iterate(m: Interpreter, value: Value, site: ast.AST) -> list[Value]:
    """What a loop over `value` sees: the known items, or two unknown ones; one item where no graph can be."""
    items = items_of(m, value, site)
    while isinstance(value, Sequence) and value.open and 2 <= len(items) < rounds(site):
        further = another(m, items[-1], len(items))
        if further is None:
            break
        items = [*items, further]
    seen = items[:1] if m.frame.is_plain else items
    note_passed_over(m, value, len(seen))
    return seen


def note_passed_over(m: Interpreter, value: Value, seen: int) -> None:
    """Take note of what a loop over `value` does not come to, as it sees the first few items alone."""
    members: list[Value] = list(value.children or ()) if isinstance(value, TorchModule) else []
    if isinstance(value, (Sequence, Mapping)):
        members = list(value.items if isinstance(value, Sequence) else value.items.values())
    rest = members[min(seen, LOOP_LIMIT) :]
    if rest:
        m.recording.passed_over[value] = rest


def next_item(m: Interpreter, value: Value, items: list[Value], site: ast.AST) -> Value | None:
    """One more item of `value` than the loop over it has seen; None where there is none, or none is known."""
    if isinstance(value, Tensor):
        return row(m, value, site)
    if not goes_on(value) or any(was_asked(m, each) for each in parts_of(items[-1])):
        return None
    return another(m, items[-1], len(items))


def goes_on(value: Value) -> bool:
    """Whether a loop over `value` sees only the first of its items, and more like them follow."""
    return isinstance(value, (Tensor, NonTensor, Unknown, Parameters)) or isinstance(value, Sequence) and value.goes_on


def parts_of(item: Value) -> list[Value]:
    """What `for i, (x, y) in ...` gives names to."""
    return [inner for part in item.items for inner in parts_of(part)] if isinstance(item, Sequence) else [item]


def was_asked(m: Interpreter, item: Value) -> bool:
    """Whether the program has compared this counter, as it does to tell the last iteration."""
    key = item.identity
    if not isinstance(key, Key) or kind_of(key) != "counter":
        return False
    compared = (question.parts for question in m.decisions if isinstance(question, Key) and kind_of(question) in ("==", "<"))
    return any(without_offset(part)[0] is key for parts in compared for part in parts)


def another(m: Interpreter, item: Value, index: int) -> Value | None:
    """One more item of what goes on as it began; None where that is not known."""
    if isinstance(item, NonTensor):
        if isinstance(item.key, Key) and kind_of(item.key) == "counter" and len(item.key.parts) == 3:
            return NonTensor(("counter", item.key.parts[1], index))
        return NonTensor(("item", item.key, index, m.context))
    if isinstance(item, Tensor) and item.node is None and item.leaf is None:
        return item.copied()
    if isinstance(item, Unknown):
        return Unknown(("item", item.identity, index, m.now()), item.node, item.outside)
    if isinstance(item, Sequence) and not item.open:
        parts = [another(m, part, index) for part in item.items]
        return Sequence(item.kind, [part for part in parts if part is not None]) if None not in parts else None
    return None


def items_of(m: Interpreter, value: Value, site: ast.AST) -> list[Value]:
    if isinstance(value, Sequence) and (value.items or not value.open):
        return first_of(value.items) if value.kind != "generator" else value.items[: 2 * LOOP_LIMIT]
    if isinstance(value, Mapping) and (value.items or not value.open):
        return [Constant(key) if not isinstance(key, tuple) else NonTensor(key) for key in list(value.items)[:LOOP_LIMIT]]
    if isinstance(value, Constant) and isinstance(value.value, (str, tuple, bytes)):
        return [Constant(item) for item in value.value[: rounds(site)]]
    if isinstance(value, Tensor):
        return [row(m, value, site) for _ in range(rounds(site))]
    if isinstance(value, TorchModule) and value.children:
        return first_of(value.children)
    if isinstance(value, Parameters):
        return [value.item]
    if isinstance(value, Instance):
        return iterate_instance(m, value, site)
    if isinstance(value, NonTensor):
        return [NonTensor(("item", value.key, i, m.context)) for i in range(rounds(site))]
    key = value.identity
    outside = isinstance(value, Unknown) and value.outside
    return [Unknown(("item", key, i, m.now()), value.node, outside) for i in range(rounds(site))]


def row(m: Interpreter, value: Tensor, site: ast.AST) -> Tensor:
    """An item of a tensor: a view of it."""
    part = Tensor(m.record(site, [value], False), base=value, is_data=value.is_data, shape=OTHER)
    part.storage = value.storage
    return part


def first_of(items: list[Value]) -> list[Value]:
    """The items that a loop sees: of many the first few, and such objects of the project as may have a state of their own."""
    return items[:LOOP_LIMIT] + [each for each in items[LOOP_LIMIT:MOST_OBJECTS] if isinstance(each, Instance)]


def iterate_instance(m: Interpreter, value: Instance, site: ast.AST) -> list[Value]:
    if value.cls.fields is not None and value.cls.find("__iter__") is None:
        return [value.attributes.get(field, NONE) for field in value.cls.fields]
    method = value.cls.find("__iter__")
    if isinstance(method, Function):
        result = m.call(method, [value], {}, site)
        if result is value:
            step = value.cls.find("__next__")
            if isinstance(step, Function):
                return [m.call(step, [value], {}, site) for _ in range(rounds(site))]
        return (
            iterate(m, result, site)
            if not isinstance(result, Instance)
            else [Unknown(("item", site, i, m.now())) for i in range(rounds(site))]
        )
    method = value.cls.find("__getitem__")
    if isinstance(method, Function):
        return [m.call(method, [value, counter(("index", site), i)], {}, site) for i in range(rounds(site))]
    return [Unknown(("item", value.serial, i, m.now())) for i in range(rounds(site))]

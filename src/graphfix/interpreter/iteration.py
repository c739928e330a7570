"""What a loop over a value sees."""

from __future__ import annotations

import ast

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

LOOP_LIMIT = 4


def iterate(m: Interpreter, value: Value, site: ast.AST) -> list[Value]:
    """What a loop over `value` sees: the known items, or two unknown ones; one item where no graph can be."""
    items = items_of(m, value, site)
    return items[:1] if m.frame.is_plain else items


def items_of(m: Interpreter, value: Value, site: ast.AST) -> list[Value]:
    if isinstance(value, Sequence) and (value.items or not value.open):
        return value.items[:LOOP_LIMIT] if value.kind != "generator" else value.items[: 2 * LOOP_LIMIT]
    if isinstance(value, Mapping) and (value.items or not value.open):
        return [Constant(key) if not isinstance(key, tuple) else NonTensor(key) for key in list(value.items)[:LOOP_LIMIT]]
    if isinstance(value, Constant) and isinstance(value.value, (str, tuple, bytes)):
        return [Constant(item) for item in value.value[:2]]
    if isinstance(value, Tensor):
        parts = [Tensor(m.record(site, [value], False), base=value, is_data=value.is_data, shape=OTHER) for _ in range(2)]
        for part in parts:
            part.storage = value.storage
        return parts
    if isinstance(value, TorchModule) and value.children:
        return value.children[:LOOP_LIMIT]
    if isinstance(value, Parameters):
        return [value]
    if isinstance(value, Instance):
        return iterate_instance(m, value, site)
    if isinstance(value, NonTensor):
        return [NonTensor(("item", value.key, i, m.context)) for i in range(2)]
    key = value.identity
    outside = isinstance(value, Unknown) and value.outside
    return [Unknown(("item", key, i, m.now()), value.node, outside) for i in range(2)]


def iterate_instance(m: Interpreter, value: Instance, site: ast.AST) -> list[Value]:
    if value.cls.fields is not None and value.cls.find("__iter__") is None:
        return [value.attributes.get(field, NONE) for field in value.cls.fields]
    method = value.cls.find("__iter__")
    if isinstance(method, Function):
        result = m.call(method, [value], {}, site)
        if result is value:
            step = value.cls.find("__next__")
            if isinstance(step, Function):
                return [m.call(step, [value], {}, site) for _ in range(2)]
        return (
            iterate(m, result, site)
            if not isinstance(result, Instance)
            else [Unknown(("item", site, i, m.now())) for i in range(2)]
        )
    method = value.cls.find("__getitem__")
    if isinstance(method, Function):
        return [m.call(method, [value, counter(("index", site), i)], {}, site) for i in range(2)]
    return [Unknown(("item", id(value), i, m.now())) for i in range(2)]

"""Lowering of comprehensions: loops in the code around them, but for generator expressions, which are functions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphfix.ir.builder import Builder, Handler, Steps
from graphfix.ir.expressions import condition
from graphfix.ir.instructions import (
    Argument,
    Build,
    Call,
    Collect,
    Constant,
    DeleteName,
    Item,
    Iterate,
    Kind,
    MakeFunction,
    Next,
    Suspension,
    Value,
    Yield,
)
from graphfix.ir.targets import assigned

KINDS = {ast.ListComp: Kind.LIST, ast.SetComp: Kind.SET, ast.DictComp: Kind.DICT}


def of_comprehension(builder: Builder, node: ast.ListComp | ast.SetComp | ast.DictComp) -> Steps:
    first = node.generators[0]
    items = builder.give(Iterate, first, (yield first.iter), bool(first.is_async))
    outside, builder.scope = builder.scope, builder.scopes[node]
    for variable in builder.scope.captured():
        builder.write(DeleteName(node, None, variable, True))
    container = builder.give(Build, node, KINDS[type(node)], ())

    def collect() -> Steps:
        if isinstance(node, ast.DictComp):
            key = yield node.key
            item = Item((yield node.value), key)
        else:
            item = Item((yield node.elt))
        builder.write(Collect(node, None, container, item))

    yield loops(builder, node.generators, 0, items, collect)
    builder.scope = outside
    return container


def loops(builder: Builder, generators: list[ast.comprehension], at: int, items: Value, inside: Callable[[], Steps]) -> Steps:
    """The loops from `at` on, over `items`, and what each round of the innermost one does."""
    node = generators[at]
    builder.awaits |= bool(node.is_async)
    around = builder.loops
    builder.loops = (*around, node)
    header, body = builder.new(node), builder.new()
    builder.loops = around
    end = builder.new()
    builder.flow_into(header, node)
    item = builder.give(Next, node, items, body, end, bool(node.is_async))
    builder.loops = (*around, node)
    builder.begin(body)
    yield assigned(builder, node.target, item)
    for test in node.ifs:
        go_on = builder.new()
        yield condition(builder, test, go_on, header)
        builder.begin(go_on)
    if at + 1 < len(generators):
        inner = generators[at + 1]
        further = builder.give(Iterate, inner, (yield inner.iter), bool(inner.is_async))
        yield loops(builder, generators, at + 1, further, inside)
    else:
        yield inside()
    builder.jump(header, node)
    builder.loops = around
    builder.begin(end)


def of_generator(builder: Builder, node: ast.GeneratorExp) -> Steps:
    """The function of a generator expression, called with the iterator of the first iterable."""
    first = node.generators[0]
    items = builder.give(Iterate, first, (yield first.iter), bool(first.is_async))
    function = builder.give(MakeFunction, node, node, ())
    return builder.give(Call, node, function, (Argument(items),))


def generator_body(builder: Builder, node: ast.GeneratorExp, items: Value) -> Steps:
    """What the function of a generator expression does with `items`, which it is given."""

    def hand_out() -> Steps:
        value = yield node.elt
        builder.give(Yield, node, value, Suspension.YIELD)

    builder.yields = True
    yield loops(builder, node.generators, 0, items, hand_out)
    return builder.give(Constant, node, None)


COMPREHENSIONS: dict[type[ast.AST], Handler] = {
    ast.ListComp: of_comprehension,
    ast.SetComp: of_comprehension,
    ast.DictComp: of_comprehension,
    ast.GeneratorExp: of_generator,
}

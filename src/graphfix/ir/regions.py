"""Lowering of `try` and `with`: handlers, and what runs on every way out."""

from __future__ import annotations

import ast
from collections.abc import Callable

from graphfix.ir.blocks import Block
from graphfix.ir.builder import MOST_COPIED, Builder, Finally, Steps, body_of
from graphfix.ir.instructions import (
    Branch,
    Catch,
    Constant,
    DeleteName,
    Enter,
    Exit,
    Match,
    Operator,
    Pattern,
    Raise,
    Value,
)
from graphfix.ir.targets import assigned
from graphfix.ir.variables import Variable


def of_with(builder: Builder, node: ast.With | ast.AsyncWith) -> Steps:
    return managed(builder, node, 0)


def managed(builder: Builder, node: ast.With | ast.AsyncWith, at: int) -> Steps:
    """The managers from `at` on, and then the body."""
    if at == len(node.items):
        yield body_of(node.body)
        return
    item = node.items[at]
    asynchronous = isinstance(node, ast.AsyncWith)
    manager = yield item.context_expr
    entered = builder.give(Enter, item, manager, asynchronous)

    def leave() -> Steps:
        builder.give(Exit, item, manager, None, asynchronous)
        yield from ()

    def inside() -> Steps:
        if item.optional_vars is not None:
            yield assigned(builder, item.optional_vars, entered)
        yield managed(builder, node, at + 1)

    behind, on_error = builder.new(), builder.new()
    yield guarded(builder, node, inside, leave, on_error)
    yield leave()
    builder.jump(behind, item)
    error = catch(builder, item, on_error)
    swallowed = builder.give(Exit, item, manager, error, asynchronous)
    again = builder.new()
    builder.write(Branch(item, None, swallowed, behind, again))
    builder.begin(again)
    builder.write(Raise(item, None, error, None, True))
    builder.caught.pop()
    builder.begin(behind)


def catch(builder: Builder, node: ast.AST, on_error: Block) -> Value:
    """Begin a handler: what is written from now on handles its exception, until that is taken from `caught`."""
    builder.begin(on_error)
    error = builder.give(Catch, node)
    builder.caught.append(error)
    on_error.handling = tuple(builder.caught)
    return error


def guarded(
    builder: Builder, node: ast.AST, inside: Callable[[], Steps], leave: Callable[[], Steps], on_error: Block
) -> Steps:
    """Steps in a region of which an exception goes to `on_error`, and each other way out runs the steps `leave` first."""
    around = builder.handler
    builder.exits.append(Finally(leave, around, builder.loops, list(builder.caught)))
    builder.handler = on_error
    builder.flow_into(builder.new(), node)
    yield inside()
    builder.handler = around
    builder.exits.pop()
    builder.flow_into(builder.new(), node)


def of_try(builder: Builder, node: ast.Try) -> Steps:
    if not node.finalbody:
        yield handled(builder, node)
        return

    def leave() -> Steps:
        if builder.copied > MOST_COPIED:
            builder.hide(node, node.finalbody)
            return
        before = len(builder.givers)
        yield body_of(node.finalbody)
        builder.copied += len(builder.givers) - before

    behind, on_error = builder.new(), builder.new()
    yield guarded(builder, node, lambda: handled(builder, node), leave, on_error)
    yield leave()
    builder.jump(behind, node)
    error = catch(builder, node, on_error)
    yield leave()
    builder.write(Raise(node, None, error, None, True))
    builder.caught.pop()
    builder.begin(behind)


def handled(builder: Builder, node: ast.Try) -> Steps:
    """The body of a `try`, its handlers, and what runs where nothing was raised."""
    if not node.handlers:
        yield body_of((*node.body, *node.orelse))
        return
    around, behind, on_error = builder.handler, builder.new(), builder.new()
    builder.handler = on_error
    builder.flow_into(builder.new(), node)
    yield body_of(node.body)
    builder.handler = around
    builder.flow_into(builder.new(), node)
    yield body_of(node.orelse)
    builder.jump(behind, node)
    error = catch(builder, node, on_error)
    for handler in node.handlers:
        other = builder.new()
        if handler.type is not None:
            classes = yield handler.type
            parts = builder.give(Match, handler, Pattern.EXCEPTION, error, (classes,))
            nothing = builder.give(Constant, handler, None)
            matches = builder.give(Operator, handler, "is not", (parts, nothing))
            into = builder.new()
            builder.write(Branch(handler, None, matches, into, other))
            builder.begin(into)
        yield handling(builder, handler, error)
        builder.jump(behind, handler)
        builder.begin(other)
    builder.write(Raise(node, None, error, None, True))
    builder.caught.pop()
    builder.begin(behind)


def handling(builder: Builder, handler: ast.ExceptHandler, error: Value) -> Steps:
    """The body of a handler; its name is unbound on each way out."""
    if handler.name is None:
        yield body_of(handler.body)
        return
    variable = builder.scope.variable(handler.name)
    builder.keep(variable, error, handler)

    def inside() -> Steps:
        yield body_of(handler.body)

    def leave() -> Steps:
        unbind(builder, handler, variable)
        yield from ()

    on_error, behind = builder.new(), builder.new()
    yield guarded(builder, handler, inside, leave, on_error)
    unbind(builder, handler, variable)
    builder.jump(behind, handler)
    further = catch(builder, handler, on_error)
    unbind(builder, handler, variable)
    builder.write(Raise(handler, None, further, None, True))
    builder.caught.pop()
    builder.begin(behind)


def unbind(builder: Builder, node: ast.AST, variable: Variable) -> None:
    builder.keep(variable, builder.give(Constant, node, None), node)
    builder.write(DeleteName(node, None, variable))

"""Lowering of what is assigned to, deleted, or changed in place."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphfix.ir.builder import Builder, Steps
from graphfix.ir.expressions import SYMBOLS
from graphfix.ir.instructions import (
    DeleteAttribute,
    DeleteItem,
    DeleteName,
    InPlace,
    Part,
    ReadAttribute,
    ReadItem,
    Unpack,
    Value,
    WriteAttribute,
    WriteItem,
)


def assigned(builder: Builder, target: ast.expr, value: Value) -> Steps:
    """Bind `value` to a name, attribute, item, or to the parts of a tuple or list."""
    if isinstance(target, ast.Name):
        builder.keep(builder.scope.variable(target.id), value, target)
    elif isinstance(target, ast.Attribute):
        holder = yield target.value
        builder.write(WriteAttribute(target, None, holder, builder.scope.spelled(target.attr), value))
    elif isinstance(target, ast.Subscript):
        holder = yield target.value
        key = yield target.slice
        builder.write(WriteItem(target, None, holder, key, value))
    elif isinstance(target, ast.Starred):
        yield assigned(builder, target.value, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        star = next((index for index, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        parts = builder.give(Unpack, target, value, len(target.elts), star)
        for index, each in enumerate(target.elts):
            yield assigned(builder, each, builder.give(Part, each, parts, index))
    else:
        builder.hide(target, [target])


def deleted(builder: Builder, targets: Sequence[ast.expr]) -> Steps:
    for target in targets:
        if isinstance(target, ast.Name):
            builder.write(DeleteName(target, None, builder.scope.variable(target.id)))
        elif isinstance(target, ast.Attribute):
            holder = yield target.value
            builder.write(DeleteAttribute(target, None, holder, builder.scope.spelled(target.attr)))
        elif isinstance(target, ast.Subscript):
            holder = yield target.value
            key = yield target.slice
            builder.write(DeleteItem(target, None, holder, key))
        elif isinstance(target, (ast.Tuple, ast.List)):
            yield deleted(builder, target.elts)


def changed(builder: Builder, node: ast.AugAssign) -> Steps:
    """`target += value`: the parts of the target are evaluated once."""
    symbol, target = SYMBOLS[type(node.op)], node.target
    if isinstance(target, ast.Name):
        variable = builder.scope.variable(target.id)
        old = builder.read(variable, target)
        new = builder.give(InPlace, node, symbol, old, (yield node.value))
        builder.keep(variable, new, target)
    elif isinstance(target, ast.Attribute):
        holder, name = (yield target.value), builder.scope.spelled(target.attr)
        old = builder.give(ReadAttribute, target, holder, name)
        new = builder.give(InPlace, node, symbol, old, (yield node.value))
        builder.write(WriteAttribute(target, None, holder, name, new))
    else:
        holder = yield target.value
        key = yield target.slice
        old = builder.give(ReadItem, target, holder, key)
        new = builder.give(InPlace, node, symbol, old, (yield node.value))
        builder.write(WriteItem(target, None, holder, key, new))

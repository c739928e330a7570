"""Lowering of expressions: each handler gives the number of the value, or steps that give it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphfix.ir.blocks import Block
from graphfix.ir.builder import Builder, Handler, Steps
from graphfix.ir.instructions import (
    Argument,
    Branch,
    Build,
    Call,
    Constant,
    Format,
    Item,
    Iterate,
    Kind,
    MakeFunction,
    Operator,
    ReadAttribute,
    ReadItem,
    ReadName,
    Suspension,
    Value,
    Yield,
)
from graphfix.ir.variables import Variable

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.MatMult: "@",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&",
    ast.Invert: "~", ast.Not: "not", ast.UAdd: "+", ast.USub: "-",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def of_name(builder: Builder, node: ast.Name) -> Value:
    return builder.give(ReadName, node, builder.scope.variable(node.id))


def of_constant(builder: Builder, node: ast.Constant) -> Value:
    return builder.give(Constant, node, node.value)


def of_attribute(builder: Builder, node: ast.Attribute) -> Steps:
    value = yield node.value
    return builder.give(ReadAttribute, node, value, builder.scope.spelled(node.attr))


def of_subscript(builder: Builder, node: ast.Subscript) -> Steps:
    value = yield node.value
    key = yield node.slice
    return builder.give(ReadItem, node, value, key)


def of_slice(builder: Builder, node: ast.Slice) -> Steps:
    items = []
    for part in (node.lower, node.upper, node.step):
        items.append(Item((yield part) if part is not None else builder.give(Constant, node, None)))
    return builder.give(Build, node, Kind.SLICE, tuple(items))


def displayed(kind: Kind) -> Callable[[Builder, Any], Steps]:
    """The handler of a tuple, list or set that is written out."""

    def handle(builder: Builder, node: ast.List | ast.Tuple | ast.Set) -> Steps:
        return builder.give(Build, node, kind, (yield items_of(builder, node.elts)))

    return handle


def items_of(builder: Builder, parts: Sequence[ast.expr]) -> Steps:
    items = []
    last = last_seeing(parts) if any(isinstance(part, ast.Starred) for part in parts) else -1
    for index, part in enumerate(parts):
        value = yield part.value if isinstance(part, ast.Starred) else part
        if isinstance(part, ast.Starred) and index < last:
            value = builder.give(Build, part, Kind.LIST, (Item(value, None, 1),))
        items.append(Item(value, None, int(isinstance(part, ast.Starred))))
    return tuple(items)


def last_seeing(parts: Iterable[ast.expr | None]) -> int:
    """The last expression that may see whether a part with a star before it has been taken apart yet; -1 if there is none."""
    quiet = (ast.Constant, ast.Name, type(None))
    inner = (part.value if isinstance(part, ast.Starred) else part for part in parts)
    return max((index for index, part in enumerate(inner) if not isinstance(part, quiet)), default=-1)


def of_dict(builder: Builder, node: ast.Dict) -> Steps:
    items = []
    last = max(last_seeing(node.keys), last_seeing(node.values)) if None in node.keys else -1
    for index, (key, value) in enumerate(zip(node.keys, node.values)):
        if key is None:
            taken = yield value
            if index < last:
                taken = builder.give(Build, value, Kind.DICT, (Item(taken, None, 2),))
            items.append(Item(taken, None, 2))
        else:
            spelled = yield key
            items.append(Item((yield value), spelled))
    return builder.give(Build, node, Kind.DICT, tuple(items))


def of_joined(builder: Builder, node: ast.JoinedStr) -> Steps:
    items = []
    for part in node.values:
        items.append(Item((yield part)))
    return builder.give(Build, node, Kind.TEXT, tuple(items))


def of_formatted(builder: Builder, node: ast.FormattedValue) -> Steps:
    value = yield node.value
    form = (yield node.format_spec) if node.format_spec is not None else None
    return builder.give(Format, node, value, chr(node.conversion) if node.conversion > 0 else "", form)


def of_binary(builder: Builder, node: ast.BinOp) -> Steps:
    left = yield node.left
    right = yield node.right
    return builder.give(Operator, node, SYMBOLS[type(node.op)], (left, right))


def of_unary(builder: Builder, node: ast.UnaryOp) -> Steps:
    value = yield node.operand
    return builder.give(Operator, node, SYMBOLS[type(node.op)], (value,))


def of_compare(builder: Builder, node: ast.Compare) -> Steps:
    """`a < b < c`: each operand once, and the first comparison that is false is the value."""
    left = yield node.left
    if len(node.ops) == 1:
        right = yield node.comparators[0]
        return builder.give(Operator, node, SYMBOLS[type(node.ops[0])], (left, right))
    result, behind = builder.temporary(), builder.new()
    for position, (operator, each) in enumerate(zip(node.ops, node.comparators)):
        right = yield each
        value = builder.give(Operator, node, SYMBOLS[type(operator)], (left, right))
        builder.keep(result, value, node)
        if position < len(node.ops) - 1:
            go_on = builder.new()
            builder.write(Branch(node, None, value, go_on, behind))
            builder.begin(go_on)
        left = right
    builder.flow_into(behind, node)
    return builder.read(result, node)


def of_both(builder: Builder, node: ast.BoolOp) -> Steps:
    """`a and b`, `a or b`: the value of the last operand that is looked at."""
    result, behind = builder.temporary(), builder.new()
    for each in node.values[:-1]:
        go_on = builder.new()
        ways = (go_on, behind) if isinstance(node.op, ast.And) else (behind, go_on)
        yield decided(builder, each, result, *ways)
        builder.begin(go_on)
    builder.keep(result, (yield node.values[-1]), node.values[-1])
    builder.flow_into(behind, node)
    return builder.read(result, node)


def decided(builder: Builder, node: ast.expr, result: Variable, yes: Block, no: Block) -> Steps:
    """Keep the value of an operand of `and` or `or`, and go on by whether it is true: each operand is tested once."""
    if isinstance(node, ast.BoolOp):
        for each in node.values[:-1]:
            go_on = builder.new()
            ways = (go_on, no) if isinstance(node.op, ast.And) else (yes, go_on)
            yield decided(builder, each, result, *ways)
            builder.begin(go_on)
        node = node.values[-1]
        yield decided(builder, node, result, yes, no)
        return
    value = yield node
    builder.keep(result, value, node)
    builder.write(Branch(node, None, value, yes, no))


def of_choice(builder: Builder, node: ast.IfExp) -> Steps:
    result, yes, no, behind = builder.temporary(), builder.new(), builder.new(), builder.new()
    yield condition(builder, node.test, yes, no)
    builder.begin(yes)
    builder.keep(result, (yield node.body), node.body)
    builder.jump(behind, node)
    builder.begin(no)
    builder.keep(result, (yield node.orelse), node.orelse)
    builder.flow_into(behind, node)
    return builder.read(result, node)


def condition(builder: Builder, node: ast.expr, yes: Block, no: Block) -> Steps:
    """Go on at `yes` where an expression is true, and at `no` elsewhere: nothing is written behind it."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield condition(builder, node.operand, no, yes)
    elif isinstance(node, ast.BoolOp):
        for each in node.values[:-1]:
            go_on = builder.new()
            ways = (go_on, no) if isinstance(node.op, ast.And) else (yes, go_on)
            yield condition(builder, each, *ways)
            builder.begin(go_on)
        yield condition(builder, node.values[-1], yes, no)
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        yield compared(builder, node, yes, no)
    elif isinstance(node, ast.Constant):
        builder.jump(yes if node.value else no, node)
    else:
        value = yield node
        builder.end(Branch(node, None, value, yes, no))


def compared(builder: Builder, node: ast.Compare, yes: Block, no: Block) -> Steps:
    """A chain of comparisons as a condition: each is tested once."""
    left = yield node.left
    for operator, each in zip(node.ops, node.comparators):
        right = yield each
        go_on = builder.new() if each is not node.comparators[-1] else yes
        builder.end(Branch(node, None, builder.give(Operator, node, SYMBOLS[type(operator)], (left, right)), go_on, no))
        if go_on is not yes:
            builder.begin(go_on)
        left = right


def of_call(builder: Builder, node: ast.Call) -> Steps:
    function = yield node.func
    return builder.give(Call, node, function, (yield given(builder, node.args, node.keywords)))


def given(builder: Builder, positional: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> Steps:
    """What a call is given, in the order in which it is evaluated."""
    arguments = []
    unpacks = any(isinstance(each, ast.Starred) for each in positional) or any(keyword.arg is None for keyword in keywords)
    last = last_seeing([*positional, *(keyword.value for keyword in keywords)]) if unpacks else -1
    for index, each in enumerate(positional):
        value = yield each.value if isinstance(each, ast.Starred) else each
        if isinstance(each, ast.Starred) and len(positional) > 1 and index < last:
            value = builder.give(Build, each, Kind.LIST, (Item(value, None, 1),))
        arguments.append(Argument(value, None, int(isinstance(each, ast.Starred))))
    for index, keyword in enumerate(keywords, len(positional)):
        value = yield keyword.value
        if keyword.arg is None and index < last:
            value = builder.give(Build, keyword.value, Kind.DICT, (Item(value, None, 2),))
        arguments.append(Argument(value, keyword.arg, 0 if keyword.arg is not None else 2))
    return tuple(arguments)


def of_lambda(builder: Builder, node: ast.Lambda) -> Steps:
    return builder.give(MakeFunction, node, node, (yield defaults(builder, node.args)))


def defaults(builder: Builder, parameters: ast.arguments) -> Steps:
    """The defaults of a function, by the names of its parameters."""
    positional = [*parameters.posonlyargs, *parameters.args]
    pairs = [*zip(positional[len(positional) - len(parameters.defaults) :], parameters.defaults)]
    pairs += [(name, value) for name, value in zip(parameters.kwonlyargs, parameters.kw_defaults) if value is not None]
    found = []
    for parameter, value in pairs:
        found.append(Argument((yield value), builder.scope.spelled(parameter.arg)))
    return tuple(found)


def of_walrus(builder: Builder, node: ast.NamedExpr) -> Steps:
    value = yield node.value
    builder.keep(builder.scope.variable(node.target.id), value, node.target)
    return value


def suspended(how: Suspension) -> Callable[[Builder, Any], Steps]:
    """The handler of `yield`, `yield from` or `await`."""

    def handle(builder: Builder, node: ast.Yield | ast.YieldFrom | ast.Await) -> Steps:
        if not isinstance(node, ast.Await):
            builder.yields = True
        else:
            builder.awaits = True
        value = (yield node.value) if node.value is not None else builder.give(Constant, node, None)
        if how is Suspension.FROM:
            value = builder.give(Iterate, node, value)
        return builder.give(Yield, node, value, how)

    return handle


EXPRESSIONS: dict[type[ast.AST], Handler] = {
    ast.Name: of_name,
    ast.Constant: of_constant,
    ast.Attribute: of_attribute,
    ast.Subscript: of_subscript,
    ast.Slice: of_slice,
    ast.Tuple: displayed(Kind.TUPLE),
    ast.List: displayed(Kind.LIST),
    ast.Set: displayed(Kind.SET),
    ast.Dict: of_dict,
    ast.JoinedStr: of_joined,
    ast.FormattedValue: of_formatted,
    ast.BinOp: of_binary,
    ast.UnaryOp: of_unary,
    ast.Compare: of_compare,
    ast.BoolOp: of_both,
    ast.IfExp: of_choice,
    ast.Call: of_call,
    ast.Lambda: of_lambda,
    ast.NamedExpr: of_walrus,
    ast.Yield: suspended(Suspension.YIELD),
    ast.YieldFrom: suspended(Suspension.FROM),
    ast.Await: suspended(Suspension.AWAIT),
}

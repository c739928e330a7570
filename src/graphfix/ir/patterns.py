"""Lowering of `match`: each case is a chain of tests (https://docs.python.org/3/reference/compound_stmts.html#match)."""

from __future__ import annotations

import ast

from graphfix.ir.blocks import Block
from graphfix.ir.builder import Builder, Steps, body_of
from graphfix.ir.expressions import condition
from graphfix.ir.instructions import Branch, Constant, Match, Operator, Part, Pattern, Value
from graphfix.ir.variables import Variable


def of_match(builder: Builder, node: ast.Match) -> Steps:
    subject = yield node.subject
    behind = builder.new()
    for case in node.cases:
        other = builder.new()
        bound: list[tuple[str, Value, ast.AST]] = []
        yield matched(builder, case.pattern, subject, other, bound)
        for name, value, pattern in bound:
            builder.keep(builder.scope.variable(name), value, pattern)
        if case.guard is not None:
            go_on = builder.new()
            yield condition(builder, case.guard, go_on, other)
            builder.begin(go_on)
        yield body_of(case.body)
        builder.jump(behind, case.pattern)
        builder.begin(other)
    builder.flow_into(behind, node)


def matched(builder: Builder, node: ast.pattern, value: Value, other: Block, bound: list[tuple[str, Value, ast.AST]]) -> Steps:
    """Go on here if `value` matches, else at `other`. `bound`: the names that are bound if the whole pattern matches."""
    if isinstance(node, ast.MatchValue):
        wanted = yield node.value
        test(builder, node, builder.give(Operator, node, "==", (value, wanted)), other)
    elif isinstance(node, ast.MatchSingleton):
        wanted = builder.give(Constant, node, node.value)
        test(builder, node, builder.give(Operator, node, "is", (value, wanted)), other)
    elif isinstance(node, ast.MatchSequence):
        star = next((index for index, each in enumerate(node.patterns) if isinstance(each, ast.MatchStar)), None)
        unread = tuple(index for index, each in enumerate(node.patterns) if matches_all(each))
        parts = asked(builder, node, other, Pattern.SEQUENCE, value, (), len(node.patterns), star, (), False, unread)
        yield inside(builder, node.patterns, parts, other, bound)
    elif isinstance(node, ast.MatchStar):
        bound += [(node.name, value, node)] if node.name is not None else []
    elif isinstance(node, ast.MatchMapping):
        yield of_mapping(builder, node, value, other, bound)
    elif isinstance(node, ast.MatchClass):
        cls = yield node.cls
        parts = asked(builder, node, other, Pattern.CLASS, value, (cls,), len(node.patterns), None, tuple(node.kwd_attrs))
        yield inside(builder, [*node.patterns, *node.kwd_patterns], parts, other, bound)
    elif isinstance(node, ast.MatchAs):
        if node.pattern is not None:
            yield matched(builder, node.pattern, value, other, bound)
        bound += [(node.name, value, node)] if node.name is not None else []
    elif isinstance(node, ast.MatchOr):
        yield any_of(builder, node, value, other, bound)


def of_mapping(
    builder: Builder, node: ast.MatchMapping, value: Value, other: Block, bound: list[tuple[str, Value, ast.AST]]
) -> Steps:
    keys = []
    if not all(isinstance(key, ast.Constant) for key in node.keys):
        asked(builder, node, other, Pattern.MAPPING, value)  # the keys of what is no mapping are not looked at
    for key in node.keys:
        keys.append((yield key))
    rest = node.rest is not None
    parts = asked(builder, node, other, Pattern.MAPPING, value, tuple(keys), len(keys), None, (), rest)
    yield inside(builder, node.patterns, parts, other, bound)
    if node.rest is not None:
        bound.append((node.rest, builder.give(Part, node, parts, len(keys)), node))


def any_of(builder: Builder, node: ast.MatchOr, value: Value, other: Block, bound: list[tuple[str, Value, ast.AST]]) -> Steps:
    """Each alternative binds the same names: by which one they came is joined in temporaries."""
    behind = builder.new()
    joined: dict[str, Variable] = {}
    for position, each in enumerate(node.patterns):
        next_one = builder.new() if position < len(node.patterns) - 1 else other
        own: list[tuple[str, Value, ast.AST]] = []
        yield matched(builder, each, value, next_one, own)
        for name, part, _ in own:
            builder.keep(joined.setdefault(name, builder.temporary()), part, each)
        builder.jump(behind, each)
        if next_one is not other:
            builder.begin(next_one)
    builder.begin(behind)
    bound += [(name, builder.read(variable, node), node) for name, variable in joined.items()]


def asked(builder: Builder, node: ast.pattern, other: Block, *fields: object) -> Value:
    """Ask whether a value matches, and go to `other` if not; the parts."""
    parts = builder.give(Match, node, *fields)
    nothing = builder.give(Constant, node, None)
    test(builder, node, builder.give(Operator, node, "is not", (parts, nothing)), other)
    return parts


def inside(
    builder: Builder, patterns: list[ast.pattern], parts: Value, other: Block, bound: list[tuple[str, Value, ast.AST]]
) -> Steps:
    for index, each in enumerate(patterns):
        if not matches_all(each):
            yield matched(builder, each, builder.give(Part, each, parts, index), other, bound)


def matches_all(node: ast.pattern) -> bool:
    """`_` and `*_`, which bind nothing."""
    return isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is None and getattr(node, "pattern", None) is None


def test(builder: Builder, node: ast.AST, value: Value, other: Block) -> None:
    go_on = builder.new()
    builder.write(Branch(node, None, value, go_on, other))
    builder.begin(go_on)

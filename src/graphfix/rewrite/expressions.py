"""Operations on expressions, executed by libcst on the one expression that they name."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from graphfix.model import AddArgument, Append, RemoveArgument, Replace, Span
from graphfix.rewrite.arguments import add_argument, remove_argument
from graphfix.rewrite.changes import CLOSES, OPENS, Change, differences, trimmed
from graphfix.rewrite.depth import too_deep
from graphfix.rewrite.layout import UNPARSABLE, Layout, RefusedError

Argument = AddArgument | RemoveArgument

# What takes a suffix without parentheses
_ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Subscript,
    cst.Call,
    cst.List,
    cst.Dict,
    cst.Set,
    cst.ListComp,
    cst.DictComp,
    cst.SetComp,
    cst.BaseString,
    cst.Ellipsis,
)
# What binds weaker than any operator around it might
_WEAK = (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Lambda, ast.Await)
_WEAKEST = (ast.Tuple, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_OPERATORS = (
    *_WEAK,
    ast.Attribute,
    ast.Starred,
    ast.NamedExpr,
    ast.comprehension,
    ast.FormattedValue,
)


def _parsed(piece: bytes) -> tuple[cst.Module, cst.BaseExpression]:
    """The expression in a pair of parentheses, so that it may go over lines."""
    text = "(" + piece.decode("utf-8", "surrogatepass") + ")"
    try:
        module = cst.parse_module(text)
    except (cst.ParserSyntaxError, RecursionError):
        raise RefusedError("libcst cannot parse the expression") from None
    line = module.body[0]
    if module.code != text or not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Expr):
        raise RefusedError("libcst does not reproduce the expression")
    return module, line.body[0].value


def _bare(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=node.lpar[1:], rpar=node.rpar[:-1])


def _piece(layout: Layout, node: ast.expr) -> tuple[Span, bytes]:
    span = layout.span(node)
    piece = layout.data[span.start : span.end]
    if too_deep(piece, node):
        raise RefusedError("too deeply nested")
    return span, piece


def append(layout: Layout, operation: Append) -> list[Change]:
    node = layout.expression(operation.span)
    node = node.value if isinstance(node, ast.Starred) else node
    span, piece = _piece(layout, node)
    if isinstance(node, (ast.Call, ast.Attribute)) and piece.endswith(operation.text.encode()):
        raise RefusedError(f"it ends with `{operation.text}` already")
    if _lends_its_parentheses(layout, node):
        opening, closing = b"(", operation.text.encode() + b")"
    else:
        opening, closing = _suffixed(piece, operation.text)
        pair = _own_parentheses(layout, node)
        if opening and pair is not None:
            span, opening, closing = pair, b"", operation.text.encode()
    size = span.end - span.start
    changes = [Change(span.end, span.end, (CLOSES, size), closing)]
    return changes + ([Change(span.start, span.start, (OPENS, -size), opening)] if opening else [])


def _suffixed(piece: bytes, text: str) -> tuple[bytes, bytes]:
    """What libcst puts before and behind an expression that gets a suffix."""
    module, wrapped = _parsed(piece)
    node = _bare(wrapped)
    operand = node if node.lpar or isinstance(node, _ATOMS) else wrapped
    try:
        template = cst.parse_expression("_" + text)
    except cst.ParserSyntaxError:
        raise RefusedError(f"`{text}` is not a suffix") from None
    inner = template
    while isinstance(inner, (cst.Attribute, cst.Call, cst.Subscript)):
        inner = inner.func if isinstance(inner, cst.Call) else inner.value
    if not isinstance(inner, cst.Name) or inner is template:
        raise RefusedError(f"`{text}` is not a suffix")
    made = template.deep_replace(inner, operand)
    assert isinstance(made, cst.CSTNode)
    before, found, after = module.code_for_node(made).encode("utf-8", "surrogatepass").partition(piece)
    if not found:
        raise RefusedError("libcst does not reproduce the expression")
    return before, after


def _lends_its_parentheses(layout: Layout, node: ast.expr) -> bool:
    """`f(x for x in y)`: one pair for the call and for the generator."""
    parent = layout.parents[node]
    shared = isinstance(node, ast.GeneratorExp) and isinstance(parent, ast.Call) and node in parent.args
    return shared and layout.span(node).end == layout.span(parent).end  # type: ignore[arg-type]


def _own_parentheses(layout: Layout, node: ast.expr) -> Span | None:
    """The pair right around the expression that is not the argument list of the call or class that holds it."""
    inner = _pair(layout.data, layout.span(node))
    if inner is None:
        return None
    parent = layout.parents[node]
    lists = [*parent.args, *parent.keywords] if isinstance(parent, ast.Call) and parent.func is not node else []
    if isinstance(parent, ast.ClassDef) and node in parent.bases:
        lists = [*parent.bases, *parent.keywords]
    if len(lists) == 1:
        return inner if _pair(layout.data, inner) is not None else None
    return inner


def _pair(data: bytes, span: Span) -> Span | None:
    start, end = span.start, span.end
    while start > 0 and data[start - 1 : start].isspace():
        start -= 1
    while end < len(data) and data[end : end + 1].isspace():
        end += 1
    if start and data[start - 1 : start] == b"(" and data[end : end + 1] == b")":
        return Span(start - 1, end + 1)
    return None


def replace(layout: Layout, operation: Replace) -> list[Change]:
    node = layout.expression(operation.span)
    span = operation.span
    if layout.comments(span.start, span.end):
        raise RefusedError("there is a comment inside the replaced expression")
    try:
        made = ast.parse("(" + operation.text + "\n)", mode="eval").body
    except UNPARSABLE:
        raise RefusedError(f"`{operation.text}` is not an expression") from None
    text = operation.text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    text = text.replace(b"\n", layout.newline(span.start))
    if _needs_parentheses(layout, node, made, text) or _lends_its_parentheses(layout, node):
        text = b"(" + text + b")"
    return [Change(span.start, span.end, content=text)]


def _needs_parentheses(layout: Layout, node: ast.expr, made: ast.expr, text: bytes) -> bool:
    if not isinstance(made, (*_WEAK, *_WEAKEST)) or _own_parentheses(layout, node) is not None:
        return False
    if isinstance(made, ast.Tuple) and text.startswith(b"(") and _is_closed(text):
        return False
    parent = layout.parents[node]
    over_lines = b"\n" in text or b"\r" in text
    if isinstance(made, _WEAKEST) or over_lines:
        return not isinstance(parent, (ast.Assign, ast.Return)) or over_lines
    is_head = getattr(parent, "func", None) is node or (isinstance(parent, ast.Subscript) and parent.value is node)
    return is_head or isinstance(parent, _OPERATORS)


def _is_closed(text: bytes) -> bool:
    """The first parenthesis of a tuple closes at its end: `(a, b)`, not `(a), (b)`."""
    try:
        return isinstance(ast.parse(b"f" + text, mode="eval").body, ast.Call) and text.endswith(b")")
    except UNPARSABLE:
        return False


def arguments(layout: Layout, operations: Sequence[Argument]) -> list[Change]:
    """All changes of the arguments of one call."""
    node = layout.expression(operations[0].span)
    if not isinstance(node, ast.Call):
        raise RefusedError("there is no call at this place")
    span, piece = _piece(layout, node)
    module, wrapped = _parsed(piece)
    call = _bare(wrapped)
    assert isinstance(call, cst.Call)
    try:
        for operation in operations:
            if isinstance(operation, AddArgument):
                call = add_argument(call, operation.name, operation.value)
            else:
                call = remove_argument(call, operation.name)
    except (cst.ParserSyntaxError, cst.CSTValidationError):
        raise RefusedError("the argument is not an expression") from None
    made = module.code_for_node(call).encode("utf-8", "surrogatepass")
    compare = trimmed if len(operations) == 1 else differences
    return compare(span.start, piece, made)

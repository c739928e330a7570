"""The methods that syntax runs without naming them: https://docs.python.org/3/reference/datamodel.html#special-method-names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt",
    ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.In: "contains", ast.NotIn: "contains",
}  # fmt: skip
# what an expression, or a statement, does by its place
OF_ITEMS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Load: ("__getitem__", "__missing__", "__class_getitem__"),
    ast.Store: ("__setitem__",),
    ast.Del: ("__delitem__",),
}
OF_ATTRIBUTES: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Load: ("__get__", "__getattr__", "__getattribute__"),
    ast.Store: ("__set__", "__setattr__"),
    ast.Del: ("__delete__", "__delattr__"),
}
# functions that run the method of their name
BUILT_IN = frozenset("next iter len str repr float int bool complex hash format abs round reversed divmod bytes dir".split())
ORDERS, ITERATES, SPELLS = ("__lt__", "__gt__"), ("__iter__", "__next__", "__getitem__"), ("__str__", "__repr__", "__format__")
# and others that run methods of what they are given
RUN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("sorted", "min", "max"), (*ORDERS, *ITERATES)),
    **dict.fromkeys(("sort", "heappush", "heappop", "heapify", "heapreplace", "nsmallest", "nlargest", "insort"), ORDERS),
    **dict.fromkeys("list tuple set dict any all map filter zip enumerate join extend".split(), ITERATES),
    "sum": (*ITERATES, "__add__", "__radd__"),
    "print": SPELLS,
    "getattr": ("__get__", "__getattr__", "__getattribute__"),
    "hasattr": ("__get__", "__getattr__", "__getattribute__"),
    "setattr": ("__set__", "__setattr__"),
}


def implicit(part: ast.AST) -> Iterator[str]:
    """The names of the methods of its operands that `part` may run."""
    match part:
        case ast.Subscript():
            yield from OF_ITEMS[type(part.ctx)]
        case ast.Attribute():
            yield from OF_ATTRIBUTES[type(part.ctx)]
        case ast.BinOp() | ast.UnaryOp() if type(part.op) in OPERATORS:
            yield from (f"__{side}{OPERATORS[type(part.op)]}__" for side in ("", "r"))
        case ast.AugAssign():
            yield from (f"__{side}{OPERATORS[type(part.op)]}__" for side in ("i", "", "r"))
        case ast.Compare():
            yield from (f"__{OPERATORS[type(op)]}__" for op in part.ops if type(op) in OPERATORS)
        case ast.Call(func=ast.Name(id=name)) if name in BUILT_IN:
            yield f"__{name}__"
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            yield from RUN.get(name, ())
        case ast.FormattedValue():
            yield from SPELLS
        case ast.withitem():
            yield from ("__enter__", "__exit__", "__aenter__", "__aexit__")
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            yield from (*ITERATES, "__aiter__", "__anext__")

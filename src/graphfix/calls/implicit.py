"""Methods that Python runs without a call that names them (https://docs.python.org/3/reference/datamodel.html#special-method-names)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code

ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
SWAPPED = {"==": "__eq__", "!=": "__ne__", "<": "__gt__", "<=": "__ge__", ">": "__lt__", ">=": "__le__"}
UNARY = {"+": "__pos__", "-": "__neg__", "~": "__invert__"}
HASHED = ("__hash__", "__eq__")
TRUTH = ("__bool__", "__len__")
FORMATS = {"s": ("__str__", "__repr__"), "r": ("__repr__",), "a": ("__repr__",), "": ("__format__", "__str__", "__repr__")}


class Asked(NamedTuple):
    """Methods of an object that an instruction may run."""

    object: ir.Value
    methods: tuple[str, ...]


def asked_by(code: Code, each: ir.Instruction) -> Iterator[Asked]:
    """The methods that an instruction may run of its operands; not those of a call, and not the accessors of attributes."""
    match each:
        case ir.Operator():
            yield from _of_operator(each)
        case ir.InPlace():
            name = ARITHMETIC.get(each.operator.rstrip("="), "")
            yield Asked(each.target, (f"__i{name}__", f"__{name}__"))
            yield Asked(each.value, (f"__r{name}__",))
        case ir.ReadItem():
            yield Asked(each.object, ("__getitem__", "__class_getitem__", "__missing__"))
            yield Asked(each.key, HASHED)
        case ir.WriteItem():
            yield Asked(each.object, ("__setitem__",))
            yield Asked(each.key, HASHED)
        case ir.DeleteItem():
            yield Asked(each.object, ("__delitem__",))
        case ir.ReadAttribute():
            yield Asked(each.object, ("__getattribute__", "__getattr__"))
        case ir.WriteAttribute():
            yield Asked(each.object, ("__setattr__",))
        case ir.DeleteAttribute():
            yield Asked(each.object, ("__delattr__",))
        case ir.Iterate():
            yield Asked(each.value, ("__aiter__",) if each.asynchronous else ("__iter__", "__getitem__"))
        case ir.Next():
            yield Asked(each.iterator, ("__anext__",) if each.asynchronous else ("__next__", "__getitem__"))
        case ir.Build() if any(item.stars for item in each.items):
            yield from (Asked(item.value, ("__iter__", "keys", "__getitem__")) for item in each.items if item.stars)
        case ir.Build(kind=ir.Kind.DICT | ir.Kind.SET):
            for item in each.items:
                yield Asked(item.value if item.key is None else item.key, HASHED)
        case ir.Unpack():
            yield Asked(each.value, ("__iter__", "__getitem__", "__next__"))
        case ir.Branch():
            yield Asked(each.condition, TRUTH)
        case ir.Format():
            yield Asked(each.value, FORMATS.get(each.conversion, FORMATS[""]))
        case ir.Enter():
            yield Asked(each.manager, ("__aenter__",) if each.asynchronous else ("__enter__",))
        case ir.Exit():
            yield Asked(each.manager, ("__aexit__",) if each.asynchronous else ("__exit__",))
        case ir.Yield(how=ir.Suspension.AWAIT):
            yield Asked(each.value, ("__await__",))
        case ir.Yield(how=ir.Suspension.FROM):
            yield Asked(each.value, ("__iter__",))
        case _:
            pass


def _of_operator(each: ir.Operator) -> Iterator[Asked]:
    if len(each.values) == 1:
        yield Asked(each.values[0], TRUTH if each.operator == "not" else (UNARY.get(each.operator, ""),))
        return
    left, right = each.values
    if each.operator in COMPARISONS:
        yield Asked(left, (COMPARISONS[each.operator], "__eq__"))
        yield Asked(right, (SWAPPED[each.operator],))
    elif each.operator in ("in", "not in"):
        yield Asked(right, ("__contains__", "__iter__", "__getitem__"))
        yield Asked(left, ("__eq__", "__hash__"))
    elif each.operator in ARITHMETIC:
        yield Asked(left, (f"__{ARITHMETIC[each.operator]}__",))
        yield Asked(right, (f"__r{ARITHMETIC[each.operator]}__",))

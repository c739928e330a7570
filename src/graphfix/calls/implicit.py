"""Methods that Python runs without a call that names them (https://docs.python.org/3/reference/datamodel.html#special-method-names)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code

# what an operator is called in the names of its methods
ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul", "&": "and",
    "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
UNARY = {"+": "pos", "-": "neg", "~": "invert"}
# and the same of a comparison, and of the one that asks the other operand
COMPARISONS = {
    "==": ("eq", "eq"),
    "!=": ("ne", "ne"),
    "<": ("lt", "gt"),
    ">": ("gt", "lt"),
    "<=": ("le", "ge"),
    ">=": ("ge", "le"),
}
TRUTH, HASHED, ORDERS = ("__bool__", "__len__"), ("__hash__", "__eq__"), ("__lt__", "__gt__")
ITERATES, SPELLS = ("__iter__", "__next__", "__getitem__"), ("__str__", "__repr__", "__format__")
# of an object that an attribute of a class is
DESCRIBES = ("__get__", "__set__", "__delete__")
# the field of an instruction that has the object, and the methods
OF_OBJECT: Mapping[type[ir.Instruction], tuple[str, tuple[str, ...]]] = {
    ir.ReadItem: ("object", ("__getitem__", "__class_getitem__", "__missing__")),
    ir.WriteItem: ("object", ("__setitem__",)),
    ir.DeleteItem: ("object", ("__delitem__",)),
    ir.ReadAttribute: ("object", ("__getattribute__", "__getattr__")),
    ir.WriteAttribute: ("object", ("__setattr__",)),
    ir.DeleteAttribute: ("object", ("__delattr__",)),
    ir.Unpack: ("value", ITERATES),
    ir.Branch: ("condition", TRUTH),
    ir.Format: ("value", SPELLS),
}
# the same where another method runs if it is asynchronous
IN_TURN: Mapping[type[ir.Instruction], tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    ir.Iterate: ("value", ("__iter__", "__getitem__"), ("__aiter__",)),
    ir.Next: ("iterator", ("__next__", "__getitem__"), ("__anext__",)),
    ir.Enter: ("manager", ("__enter__",), ("__aenter__",)),
    ir.Exit: ("manager", ("__exit__",), ("__aexit__",)),
}
KEYED = (ir.ReadItem, ir.WriteItem, ir.DeleteItem)
ATTRIBUTES = (ir.ReadAttribute, ir.WriteAttribute, ir.DeleteAttribute)
# functions and methods of Python, by the last words of their names, and what they run of what they are given:
# https://docs.python.org/3/library/functions.html; the others are those of lists, texts, `heapq`, `bisect`, `copy` and `itertools`
RUN_BY: Mapping[str, tuple[str, ...]] = {
    **{
        name: (f"__{name}__",) for name in "len int float complex hash abs round reversed dir iter next bytes aiter anext".split()
    },
    **dict.fromkeys(("str", "repr", "ascii", "format", "print", "write", "writelines"), SPELLS),
    "bool": TRUTH,
    "divmod": ("__divmod__", "__rdivmod__"),
    "pow": ("__pow__", "__rpow__"),
    **dict.fromkeys(("sorted", "min", "max"), (*ORDERS, *ITERATES)),
    **dict.fromkeys("sort heappush heappop heapify heapreplace nsmallest nlargest insort".split(), ORDERS),
    **dict.fromkeys("list tuple set dict any all map filter zip enumerate join extend".split(), ITERATES),
    "sum": (*ITERATES, "__add__", "__radd__"),
    **dict.fromkeys(("isinstance", "issubclass"), ("__instancecheck__", "__subclasscheck__")),
    **dict.fromkeys(("copy", "deepcopy"), ("__copy__", "__deepcopy__", "__reduce_ex__", "__getstate__", "__setstate__")),
    **dict.fromkeys(("getattr", "hasattr"), ("__get__", "__getattr__", "__getattribute__")),
    "setattr": ("__set__", "__setattr__"),
}


class Asked(NamedTuple):
    """Methods of an object that an instruction may run."""

    object: ir.Value
    methods: tuple[str, ...]


def asked_by(each: ir.Instruction) -> Iterator[Asked]:
    """The methods that an instruction may run of its operands; not those of a call, and not the accessors of attributes."""
    kind = type(each)
    if kind in OF_OBJECT:
        field, methods = OF_OBJECT[kind]
        yield Asked(getattr(each, field), methods)
    elif kind in IN_TURN:
        field, methods, later = IN_TURN[kind]
        yield Asked(getattr(each, field), later if each.asynchronous else methods)  # type: ignore[attr-defined]
    elif isinstance(each, ir.Operator):
        yield from _of_operator(each)
    elif isinstance(each, ir.InPlace):
        name = ARITHMETIC[each.operator]
        yield Asked(each.target, (f"__i{name}__", f"__{name}__"))
        yield Asked(each.value, (f"__r{name}__",))
    elif isinstance(each, ir.Build):
        yield from _of_display(each)
    elif isinstance(each, ir.Yield) and each.how is not ir.Suspension.YIELD:
        yield Asked(each.value, ("__await__",) if each.how is ir.Suspension.AWAIT else ITERATES)
    if isinstance(each, KEYED):
        yield Asked(each.key, HASHED)


def _of_operator(each: ir.Operator) -> Iterator[Asked]:
    if len(each.values) == 1:
        yield Asked(each.values[0], TRUTH if each.operator == "not" else (f"__{UNARY[each.operator]}__",))
        return
    left, right = each.values
    if each.operator in COMPARISONS:
        own, others = COMPARISONS[each.operator]
        yield Asked(left, (f"__{own}__", "__eq__"))
        yield Asked(right, (f"__{others}__",))
    elif each.operator in ("in", "not in"):
        yield Asked(right, ("__contains__", *ITERATES))
        yield Asked(left, HASHED)
    elif each.operator in ARITHMETIC:
        yield Asked(left, (f"__{ARITHMETIC[each.operator]}__",))
        yield Asked(right, (f"__r{ARITHMETIC[each.operator]}__", *(SPELLS if each.operator == "%" else ())))


def _of_display(each: ir.Build) -> Iterator[Asked]:
    for item in each.items:
        if item.stars:
            yield Asked(item.value, (*ITERATES, "keys"))
        elif each.kind in (ir.Kind.DICT, ir.Kind.SET):
            yield Asked(item.value if item.key is None else item.key, HASHED)


def run_by(code: Code, each: ir.Instruction) -> Iterator[str]:
    """The names of all methods that an instruction may run, of whatever object; of a call, by the name of what it calls."""
    for asked in asked_by(each):
        yield from asked.methods
    if isinstance(each, ATTRIBUTES):
        yield from DESCRIBES
    if isinstance(each, ir.Call):
        called = code.givers[each.function]
        name = called.name if isinstance(called, ir.ReadAttribute) else getattr(getattr(called, "variable", None), "name", "")
        yield from RUN_BY.get(name, ())

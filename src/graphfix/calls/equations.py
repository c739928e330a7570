"""What the result of each kind of instruction may be."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphfix.calls.attributes import attribute_of, class_variables, field_of, global_variable, held_by
from graphfix.calls.meanings import UNKNOWN, Class, Display, Function, Instance, Library, Meaning, Module, Object
from graphfix.calls.program import File, Program
from graphfix.calls.results import parameter_of, result_of, returned_by
from graphfix.calls.values import MAX_SOURCES, Equation, Field, Returned, Values
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.ir.variables import Home, Variable
from graphfix.source.builtin_names import builtin_of


def solved(program: Program) -> Values:
    """The values of a program, which are found out as they are asked for."""
    return Values(program, EQUATIONS)


def value_of(values: Values, key: tuple[Code, ir.Value]) -> Iterator[Meaning]:
    """The equation of a value of a code object."""
    code, value = key
    giver = code.givers[value]
    handler = HANDLERS.get(type(giver))
    if handler is not None:
        yield from handler(values, code, giver)
    elif not isinstance(giver, GIVES_NOTHING):
        yield UNKNOWN


def variable_of(values: Values, variable: Variable) -> Iterator[Meaning]:
    """The equation of a variable: all that binds it."""
    file = values.program.home(variable.owner)
    if variable.name == "__class__" and variable.home is Home.CELL and isinstance(variable.owner, ast.ClassDef):
        yield Class(variable.owner)
        return
    binders = file.binders(variable)
    for placed in binders[:MAX_SOURCES]:
        yield from bound_by(values, *placed)
    yield from (UNKNOWN,) if len(binders) > MAX_SOURCES else ()
    if variable.home is Home.GLOBAL and binders:
        yield from values.of(Field(file.tree, variable.name))
        yield from _of_star(values, file, variable.name)
    elif variable.home is Home.GLOBAL:
        yield from _of_nobody(values, file, variable.name)
    elif not binders:
        yield UNKNOWN


def bound_by(values: Values, code: Code, binder: ir.Instruction) -> Iterator[Meaning]:
    """What an instruction gives the variable that it binds."""
    if isinstance(binder, ir.WriteName):
        yield from values.of((code, binder.value))
    elif isinstance(binder, ir.Parameter):
        yield from parameter_of(values, code, binder.variable)
    else:
        yield UNKNOWN


def _of_star(values: Values, file: File, name: str) -> Iterator[Meaning]:
    """What a star may put in the place of a name that the file binds, too."""
    for star in file.star_imports if not name.startswith("_") else ():
        target = values.program.module("." * star.level + star.module, file)
        other = global_variable(values, target, name) if target is not None and target is not file else None
        yield from values.of(other) if other is not None else ()


def _of_nobody(values: Values, file: File, name: str) -> Iterator[Meaning]:
    """A global name that the file does not bind: one that comes by a star, or one of Python's own."""
    starred = global_variable(values, file, name)
    if starred is not None:
        yield from values.of(starred)
    elif (known := builtin_of(name)) is not None:
        yield Library(known)
    else:
        foreign = [
            star.module for star in file.star_imports if values.program.module("." * star.level + star.module, file) is None
        ]
        yield from (Library(f"{module}.{name}") for module in foreign)
        yield from () if len(foreign) == 1 else (UNKNOWN,)


def _name(values: Values, code: Code, each: ir.ReadName) -> Iterator[Meaning]:
    yield from values.of(each.variable)
    if each.variable.home is Home.CLASS and not values.program.home(code.node).binders(each.variable):
        yield UNKNOWN


def _attribute(values: Values, code: Code, each: ir.ReadAttribute) -> Iterator[Meaning]:
    for of in values.of((code, each.object)):
        yield from attribute_of(values, of, each.name)


def _item(values: Values, code: Code, each: ir.ReadItem) -> Iterator[Meaning]:
    for of in values.of((code, each.object)):
        if isinstance(of, (Class, Library)):
            yield of  # `list[int]`, `Base[T]`
        elif isinstance(of, Display):
            yield from items_of(values, of)
        elif isinstance(of, Instance) and (methods := class_variables(values, of, "__getitem__")):
            yield from results_of(values, methods)
        elif isinstance(of, Object):
            yield from held_by(values, of)
            yield UNKNOWN
        else:
            yield UNKNOWN


def items_of(values: Values, of: Display) -> Iterator[Meaning]:
    """What a container of the program may hold: what it is built of, and, but for a tuple, what may be put into it."""
    for item in (*of.built.items, *collected(of)):
        yield from values.of((of.code, item.value)) if not item.stars else (UNKNOWN,)
    if of.built.kind is not ir.Kind.TUPLE:
        yield UNKNOWN


def collected(of: Display) -> list[ir.Item]:
    """What a comprehension puts into the container that it builds."""
    if not isinstance(of.built.node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        return []
    return [each.item for each in of.code.instructions() if isinstance(each, ir.Collect) and each.container == of.built.result]


def _build(values: Values, code: Code, each: ir.Build) -> Iterator[Meaning]:
    if each.kind not in (ir.Kind.TEXT, ir.Kind.SLICE):
        yield Display(code, each)


def _part(values: Values, code: Code, each: ir.Part) -> Iterator[Meaning]:
    unpacked = code.givers[each.parts]
    if not isinstance(unpacked, ir.Unpack):
        yield UNKNOWN
        return
    for of in values.of((code, unpacked.value)):
        items = of.built.items if isinstance(of, Display) else ()
        fits = len(items) == unpacked.count and unpacked.star is None and not any(item.stars for item in items)
        if isinstance(of, Display) and fits and of.built.kind is ir.Kind.TUPLE:
            yield from values.of((of.code, items[each.index].value))
        else:
            yield from elements_of(values, of)


def elements_of(values: Values, of: Meaning) -> Iterator[Meaning]:
    """What going over an object gives, one after the other."""
    if isinstance(of, Display) and of.built.kind is not ir.Kind.DICT:
        yield from items_of(values, of)
    elif isinstance(of, Object):
        yield from held_by(values, of)
        yield UNKNOWN
    else:
        yield UNKNOWN


def _iterate(values: Values, code: Code, each: ir.Iterate) -> Iterator[Meaning]:
    """What `__iter__` gives of an object that has it; else the iterator is as good as what it goes over."""
    for of in values.of((code, each.value)):
        methods = (
            class_variables(values, of, "__aiter__" if each.asynchronous else "__iter__") if isinstance(of, Instance) else []
        )
        yield from results_of(values, methods) if methods else (of,)


def _next(values: Values, code: Code, each: ir.Next) -> Iterator[Meaning]:
    for of in values.of((code, each.iterator)):
        methods = (
            class_variables(values, of, "__anext__" if each.asynchronous else "__next__") if isinstance(of, Instance) else []
        )
        yield from results_of(values, methods) if methods else elements_of(values, of)


def results_of(values: Values, methods: Iterable[Variable]) -> Iterator[Meaning]:
    """What methods give that Python runs by itself."""
    for variable in methods:
        for method in values.of(variable):
            yield from values.of(Returned(method.node)) if isinstance(method, Function) else (UNKNOWN,)


def _enter(values: Values, code: Code, each: ir.Enter) -> Iterator[Meaning]:
    for of in values.of((code, each.manager)):
        methods = class_variables(values, of, "__enter__") if isinstance(of, Instance) else []
        yield from results_of(values, methods)
        if not methods:
            yield of if isinstance(of, Object) else UNKNOWN


def _function(values: Values, code: Code, each: ir.MakeFunction) -> Iterator[Meaning]:
    yield Function(each.body)


def _class(values: Values, code: Code, each: ir.MakeClass) -> Iterator[Meaning]:
    yield Class(each.body)


def _import(values: Values, code: Code, each: ir.Import) -> Iterator[Meaning]:
    file = values.program.home(code.node)
    base = "." * each.level + each.module
    name = base.split(".")[0] if each.root else base
    target = values.program.module(name, file)
    if target is None and name != base:  # `import a.b` where the folder `a` is no module
        inner = values.program.module(base, file)
        values.program.packages.update({base: inner} if inner is not None else {})
    if each.member is None:
        yield Module(target.tree) if target is not None else Library(name)
        return
    variable = global_variable(values, target, each.member) if target is not None else None
    if variable is not None:
        yield from values.of(variable)
        return
    inner = values.program.module(f"{base}.{each.member}" if each.module else f"{base}{each.member}", file)
    if inner is not None:
        yield Module(inner.tree)
    else:
        yield Library(f"{base}{'' if base.endswith('.') else '.'}{each.member}") if target is None else UNKNOWN


def _call(values: Values, code: Code, each: ir.Call) -> Iterator[Meaning]:
    yield from result_of(values, code, each)


def _yield(values: Values, code: Code, each: ir.Yield) -> Iterator[Meaning]:
    yield from values.of((code, each.value)) if each.how is ir.Suspension.AWAIT else (UNKNOWN,)


def _operator(values: Values, code: Code, each: ir.Operator) -> Iterator[Meaning]:
    if each.operator not in COMPARES:
        yield UNKNOWN


COMPARES = frozenset(("not", "is", "is not", "in", "not in"))
# these give no object that has code of its own
GIVES_NOTHING = (ir.Constant, ir.Format, ir.Exit)
HANDLERS: dict[type, Callable[[Values, Code, Any], Iterator[Meaning]]] = {
    ir.ReadName: _name,
    ir.ReadAttribute: _attribute,
    ir.ReadItem: _item,
    ir.Build: _build,
    ir.Part: _part,
    ir.Iterate: _iterate,
    ir.Next: _next,
    ir.Enter: _enter,
    ir.MakeFunction: _function,
    ir.MakeClass: _class,
    ir.Import: _import,
    ir.Call: _call,
    ir.Yield: _yield,
    ir.Operator: _operator,
}
EQUATIONS: dict[type, Equation] = {
    tuple: value_of,
    Variable: variable_of,
    Returned: returned_by,
    Field: field_of,
}

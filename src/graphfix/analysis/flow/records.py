"""Objects of classes whose constructor Python writes: dataclasses and named tuples.

https://docs.python.org/3/library/dataclasses.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.functions import arguments, parameters
from graphfix.analysis.flow.places import Kind
from graphfix.analysis.flow.sight import Sight

POST_INIT = "__post_init__"


class Records:
    """Links what is given for the fields of such objects. `entered` takes the methods that run where one is made."""

    def __init__(self, code: Sight, entered: dict[ast.AST, None]) -> None:
        self.code = code
        self.flow = code.flow
        self.entered = entered

    def construct(self, cls: ast.ClassDef, call: ast.Call) -> None:
        """`Row(step, loss=loss)`: what is given gets into the fields, in the order in which the classes name them."""
        names = list(self.fields_of(cls, set()))
        spread = any(isinstance(each, ast.Starred) for each in call.args)
        for position, value in enumerate(call.args):
            name = names[position] if position < len(names) and not spread else None
            self.set(call, name, value)
            for each in names if spread else ():
                self.code.assign_field(each, value)
        for keyword in call.keywords:
            self.set(call, keyword.arg, keyword.value)
            self.code.assign_field(keyword.arg, keyword.value)
        self.runs([cls], call)

    def set(self, call: ast.Call, name: str | None, value: ast.expr) -> None:
        self.flow.add(value, call, Kind.IN, name and f".{name}")
        if name:
            self.code.assign_field(name, value)

    def replace(self, call: ast.Call) -> None:
        """`dataclasses.replace(row, loss=loss)` makes another object of the same class."""
        for keyword in call.keywords:
            self.set(call, keyword.arg, keyword.value)
        self.runs(self.classes(), call)

    def applied(self, cls: ast.ClassDef, call: ast.Call, given: list[ast.expr]) -> None:
        """`map(Row, steps, losses)`: items of what is given get into any field."""
        for name in self.fields_of(cls, set()):
            for each in given:
                self.flow.add(each, call, Kind.MADE)
                self.code.assign_field(name, each)
        self.runs([cls], call)

    def classes(self) -> list[ast.ClassDef]:
        """The classes with a method that runs where one is made."""
        return [self.code.class_of[method] for method in self.code.methods.get(POST_INIT, ())]

    def runs(self, classes: list[ast.ClassDef], call: ast.Call) -> None:
        """What the class itself does with the fields, and with what is given for no field."""
        for method in (each for cls in classes for each in self.code.lookup.found(cls, POST_INIT)):
            self.entered[method] = None
            own, *others = parameters(method)
            self.flow.add(call, own, Kind.SAME, call=call)
            for parameter in others:
                for value in arguments(call):
                    self.flow.add(value, parameter, Kind.SAME, call=call)

    def fields_of(self, cls: ast.ClassDef, seen: set[ast.ClassDef]) -> Iterator[str]:
        """The names of what a constructor takes: those of the bases come first, and a field may say that it is not asked for."""
        seen.add(cls)
        named: dict[str, None] = {}
        for base in reversed(cls.bases):
            for source in self.flow.sources(base):
                if isinstance(source, ast.ClassDef) and source not in seen:
                    named.update(dict.fromkeys(self.fields_of(source, seen)))
        for part in cls.body:
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and not is_left_out(part):
                named[part.target.id] = None
        yield from named


def is_left_out(field: ast.AnnAssign) -> bool:
    """Whether a class says of a field that its constructor does not take it: `field(init=False)`, `ClassVar[int]`."""
    value = field.value
    keywords = value.keywords if isinstance(value, ast.Call) else []
    unasked = any(each.arg == "init" and isinstance(each.value, ast.Constant) and not each.value.value for each in keywords)
    return unasked or "ClassVar" in ast.unparse(field.annotation)

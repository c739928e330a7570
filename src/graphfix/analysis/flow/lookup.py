"""Which methods of one name a lookup in a class may find: the call graph's answer, as definitions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from graphfix.calls.attributes import class_of
from graphfix.calls.classes import line_of
from graphfix.calls.graph import CallGraph
from graphfix.calls.meanings import UNKNOWN, Descriptor, Function, Instance, Meaning, Super
from graphfix.ir.instructions import WriteName
from graphfix.ir.variables import Variable
from graphfix.source.spelling import FUNCTIONS, word

Method = ast.FunctionDef | ast.AsyncFunctionDef


class Lookup:
    """Finds methods by their name in classes.

    `methods`: all of each name. Any of them may be meant where a class has too many bases to look at, or the budget of the call graph has
    ended.
    """

    def __init__(self, graph: CallGraph, methods: Mapping[str, Sequence[Method]]) -> None:
        self.graph = graph
        self.methods = methods
        self._known: dict[tuple[Instance | Super, str], list[Method]] = {}

    def inherited(self, meant: Iterable[Meaning], name: str) -> list[Method]:
        """What `super().name` may be, by what `super()` may mean; any method of that name where it may mean anything."""
        found: dict[Method, None] = {}
        for meaning in list(meant) or [UNKNOWN]:
            found.update(dict.fromkeys(self._found(meaning, name) if isinstance(meaning, Super) else self.methods.get(name, ())))
        return list(found)

    def found(self, cls: ast.ClassDef, name: str) -> list[Method]:
        """What `name` may be for an object that `cls` makes."""
        return self._found(Instance(cls), name)

    def found_in_any(self, classes: Iterable[ast.ClassDef], name: str) -> list[Method]:
        """What `name` may be for an object of one of `classes`, or of a class that derives from it."""
        if name not in self.methods:
            return []
        return list(dict.fromkeys(method for cls in classes for method in self._found(Instance(cls, exact=False), name)))

    def line(self, cls: ast.ClassDef) -> Iterable[ast.ClassDef]:
        """A class and its bases in sight."""
        return line_of(self.graph.values, cls).classes

    def libraries(self, classes: Iterable[ast.ClassDef]) -> tuple[str, ...] | None:
        """The classes of libraries that any of `classes` derives from, by full names; None where one derives from what is not known."""
        lines = [line_of(self.graph.values, cls) for cls in classes]
        if any(line.is_open for line in lines):
            return None
        return tuple(dict.fromkeys(name for line in lines for name in line.libraries))

    def derives(self, cls: ast.ClassDef, name: str) -> bool:
        """Whether `cls`, or one of its bases in sight, names a base whose last word is this."""
        return any(word(base) == name for each in self.line(cls) for base in each.bases)

    def _found(self, of: Instance | Super, name: str) -> list[Method]:
        if name not in self.methods:
            return []
        if (of, name) not in self._known:
            self._known[of, name] = self._look_for(of, name)
        return self._known[of, name]

    def _look_for(self, of: Instance | Super, name: str) -> list[Method]:
        receiver = of.receiver if isinstance(of, Super) else of
        variables = self.graph.class_variables(of, name)
        if self.graph.values.is_spent or line_of(self.graph.values, class_of(receiver)).is_cut:
            return list(self.methods[name])
        return list(dict.fromkeys(method for variable in variables for method in self._bound_to(variable)))

    def _bound_to(self, variable: Variable) -> Iterable[Method]:
        """The methods that a class variable may be, whatever decorators make of them."""
        for code, binder in self.graph.program.home(variable.owner).binders(variable):
            if isinstance(binder.node, FUNCTIONS):
                yield binder.node
                continue
            for meaning in self.graph.meanings(code, binder.value) if isinstance(binder, WriteName) else ():
                node = (
                    meaning.node
                    if isinstance(meaning, Function)
                    else meaning.function
                    if isinstance(meaning, Descriptor)
                    else None
                )
                if isinstance(node, FUNCTIONS):
                    yield node

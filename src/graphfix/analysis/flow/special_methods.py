"""The methods that syntax runs without naming them: each of that name may be entered."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from graphfix.analysis.flow.bindings import Bindings
from graphfix.analysis.flow.functions import DISPLAYS, FUNCTIONS
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Field, Kind, Place, Result


class SpecialMethods(Bindings):
    """Adds the edges into methods that Python calls by itself, and notes what may be called by anybody.

    `taken`: functions that are handed on; `namespaces`: the attributes of objects as mappings, of which `only_read` are only looked
    through.
    """

    def __init__(self, flow: FlowGraph) -> None:
        super().__init__(flow)
        self.taken: dict[ast.AST, None] = {}
        self.named_so: set[tuple[Place, ast.arg]] = set()  # objects of which something is read that is called like a method, and its `self`
        self.namespaces: list[Place] = []
        self.only_read: set[Place] = set()

    def give_self(self, method: ast.FunctionDef | ast.AsyncFunctionDef, value: Place) -> None:
        first = [*method.args.posonlyargs, *method.args.args]
        if first:
            self.flow.add(value, first[0], Kind.SAME)

    def dynamic(self, value: Place, place: Place) -> None:
        """The attributes of an object as a mapping: what is read from it, or written to it, may be any attribute."""
        self.namespaces.append(place)
        if place not in self.only_read:
            self.flow.add(place, Field("*"), Kind.OUT, crosses=True)

    def class_around(self) -> tuple[ast.ClassDef | None, ast.arg | None]:
        """The class in whose method the code stands, and that method's first parameter."""
        node: ast.AST | None = self.code.node
        first = None
        while node is not None and not isinstance(node, ast.ClassDef):
            given = node.args.args if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
            first = given[0] if given else (None if isinstance(node, FUNCTIONS) else first)
            outer = self.origins.lowered.scopes[node].outer
            node = outer.code if outer is not None else None
        return (node, first) if isinstance(node, ast.ClassDef) else (None, None)

    def special(self, name: str, given: Sequence[Place], result: Place, of: Place | None = None) -> None:
        """Methods of this name that Python itself may call here. `of`: the object, where what it holds may be changed so."""
        if name in self.methods:
            self.enter_named(name, list(given), result)
            for method in self.methods[name] if of is not None else ():
                self.give_self(method, of)

    def iterated(self, items: ast.expr, names: Sequence[str]) -> None:
        """Methods of these names may run where items are taken out of an object; what is written as a list has those of Python."""
        for name in names if not isinstance(items, DISPLAYS) else ():
            self.enter_named(name, [], items)

    def enter_named(self, name: str, given: Sequence[Place], result: Place, bound: Place | None = None) -> None:
        """Every method of this name may be entered with what is `given`."""
        for method in self.methods.get(name, ()):
            self.enter_special(method, given, bound if bound is not None else result)

    def enter_special(self, method: ast.FunctionDef | ast.AsyncFunctionDef, given: Sequence[Place], result: Place) -> None:
        positional = [*method.args.posonlyargs, *method.args.args][1:]
        for parameter, value in zip(positional, given):
            self.flow.add(value, parameter, Kind.SAME)
        self.flow.add(Result(method), result, Kind.SAME)

    def hand_over(self, function: Place, method: ast.AST) -> None:
        """A function is given to code that may call it with anything."""
        self.taken[method] = None

"""The flow into what is bound: what each value brings with it, and where names, attributes, items and parts of tuples get it."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from graphfix.analysis.flow import library
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Cell, Kind, Place, Slot
from graphfix.analysis.flow.variables import Variables
from graphfix.ir.blocks import Code
from graphfix.ir.instructions import (
    Build,
    Call,
    Catch,
    Constant,
    Enter,
    Import,
    Instruction,
    Iterate,
    Match,
    Next,
    Part,
    Unpack,
    Value,
)
from graphfix.ir.instructions import Kind as Built

# what a value brings: the place where it is, how it gets on from there, and under which key it is taken out
Way = tuple[Place, Kind, Hashable]


class Bindings(Variables):
    """Knows, of each value of a code object, the places from which it gets to what is bound to it."""

    def __init__(self, flow: FlowGraph) -> None:
        super().__init__(flow)
        self.calls: dict[ast.Call, str] = {}
        self.numbers: dict[tuple[ast.Call, Place, Place, Hashable], None] = {}
        self.methods: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}

    def giver(self, value: Value) -> Instruction:
        return self.code.givers[value]

    def place(self, value: Value) -> Place | None:
        """The place of a value: the syntax that gives it. None where nothing in the text does."""
        giver = self.giver(value)
        if isinstance(giver, Iterate):
            return self.place(giver.value)
        if isinstance(giver, Constant) and not isinstance(giver.node, ast.Constant):
            return None
        if isinstance(giver, (Next, Part, Enter, Catch, Import)):
            return None
        return giver.node

    def brought_by(self, code: Code, value: Value) -> list[Way]:
        """The ways from a value of a code object to what is bound to it."""
        giver = code.givers[value]
        if isinstance(giver, Next):
            items: ast.expr = giver.node.iter  # type: ignore[attr-defined]
            return [(items, Kind.OUT, Slot.KEY if self.is_mapping(items) else None)]
        if isinstance(giver, Enter):
            context = giver.node.context_expr  # type: ignore[attr-defined]
            # what a generator yields is taken out of it
            return [(context, Kind.MADE, None), (context, Kind.SAME, None), (context, Kind.OUT, None)]
        if isinstance(giver, Part):
            return self.part(code, giver)
        if isinstance(giver, Constant) and not isinstance(giver.node, ast.Constant) or isinstance(giver, (Catch, Import)):
            return []
        if isinstance(giver, Call) and not isinstance(giver.node, (ast.Call, ast.GeneratorExp)):
            return []
        return [(giver.node, Kind.SAME, None)]

    def part(self, code: Code, part: Part) -> list[Way]:
        """The ways from one of the parts that are unpacked, or that a pattern has asked for."""
        parts = code.givers[part.parts]
        if isinstance(parts, Match):
            subject = self.subject(code, parts.value)
            return [(subject, Kind.MADE, None)] if subject is not None else []
        assert isinstance(parts, Unpack)
        apart = self.apart(code, parts)
        if apart is not None:
            return apart[part.index]
        target, whole = parts.node, self.brought_by(code, parts.value)
        each = target.elts[part.index]  # type: ignore[attr-defined]
        if isinstance(each, ast.Starred):
            return [(target, Kind.MADE, None)]
        key = None if parts.star is not None else part.index
        # what loops or contexts give is not what is unpacked here
        kinds = {self.taken_as(place, target, each, key) if kind is Kind.SAME else Kind.OUT: None for place, kind, _ in whole}
        return [(target, kind, key) for kind in kinds]

    def apart(self, code: Code, unpack: Unpack) -> list[list[Way]] | None:
        """The ways to each part, where these are known apart: `a, b = x, y`, or the pairs of `x.items()` and `enumerate(x)`."""
        giver = code.givers[unpack.value]
        if isinstance(giver, Build) and giver.kind in (Built.TUPLE, Built.LIST) and unpack.star is None:
            if len(giver.items) == unpack.count and not any(item.stars for item in giver.items):
                return [self.brought_by(code, item.value) for item in giver.items]
        if isinstance(giver, Next) and unpack.count == 2 and isinstance(unpack.node.elts[0], ast.Name):  # type: ignore[attr-defined]
            items = giver.node.iter  # type: ignore[attr-defined]
            held = self.value_of_pairs(items)
            if held is not None:
                mapping = isinstance(items.func, ast.Attribute) and not self.calls.get(items)
                if mapping:
                    return [[(held, Kind.OUT, Slot.KEY)], [(held, Kind.OUT, Slot.VALUE)]]
                return [[], [(held, Kind.OUT, None)]]
        return None

    def value_of_pairs(self, items: ast.expr) -> ast.expr | None:
        """What holds the second values, where `items` is `x.items()` or `enumerate(x)`."""
        if not isinstance(items, ast.Call):
            return None
        if (
            isinstance(items.func, ast.Attribute)
            and items.func.attr == "items"
            and not items.args
            and "items" not in self.methods
        ):
            return items.func.value
        return items.args[0] if self.calls.get(items) == "enumerate" and items.args else None

    def subject(self, code: Code, value: Value) -> Place | None:
        """What a `match` looks at, of which a value is a part."""
        giver = code.givers[value]
        while isinstance(giver, Part) and isinstance(parts := code.givers[giver.parts], Match):
            giver = code.givers[parts.value]
        return giver.node if not isinstance(giver, (Next, Part, Enter, Catch, Import)) else None

    def take(self, container: Place, place: Place, key: Hashable) -> None:
        """What the object at `container` holds under a key gets to `place`."""
        self.flow.add(container, place, self.taken_as(container, container, place, key), key)

    def taken_as(self, value: Place, container: Place, place: Place, key: Hashable) -> Kind:
        """How what is taken out of a container gets to `place`: as a number where torch gives no more there.

        `value`: what gives the container.
        """
        if not isinstance(value, ast.Call) or not library.gives_numbers_at(value, self.calls.get(value, ""), key):
            return Kind.OUT
        self.numbers[value, container, place, key] = None
        return Kind.NUMBER

    def bound_to(self, place: Place, value: Value) -> None:
        """A value is bound to what is at `place`."""
        for source, kind, key in self.brought_by(self.code, value):
            self.flow.add(source, place, kind, key)

    def is_mapping(self, container: ast.expr) -> bool:
        """Whether an object is surely a mapping, which gives its keys to a loop."""
        raise NotImplementedError

    def assign_field(self, name: str | None, value: Place) -> None:
        raise NotImplementedError

    def shared(self, attribute: ast.Attribute) -> Cell | None:
        raise NotImplementedError



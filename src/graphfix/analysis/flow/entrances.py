"""Which methods calling an object, or a part of it, may enter: `net(x)`, or `nn.Sequential(net, head)(x)`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from graphfix.analysis.flow.components import gathered
from graphfix.analysis.flow.methods import Methods
from graphfix.analysis.flow.places import Kind, Place
from graphfix.analysis.flow.sight import Sight
from graphfix.calls.results import CALLED

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Entrances:
    """The entrances of objects of classes in sight, kept while the graph grows: there only come more.

    `every`: all of them; `bits`: for each place, those of the objects that are a part of what is there, one bit for each of `every`.
    `ordered`: the same for all places in the order in which they are found, where it was asked for.
    """

    def __init__(self, code: Sight, methods: Methods, library_calls: dict[ast.Call, None]) -> None:
        self.code = code
        self.flow = code.flow
        self.methods = methods
        self.library_calls = library_calls
        self.every = list(dict.fromkeys(method for name in CALLED for method in code.methods.get(name, ())))
        self.bits: dict[Place, int] = {}
        self.ordered: dict[Place, tuple[Function, ...]] | None = None
        self.added_at = self.begun_at = 0

    def of(self, made: ast.Call) -> list[Function]:
        """The methods that calling the object which `made` makes may enter."""
        return self.of_class(*self.classes_of(made))

    def of_class(self, *classes: ast.ClassDef) -> list[Function]:
        """The methods that calling an object of one of these classes, or of one that derives from them, may enter."""
        return [method for name in CALLED for method in self.code.lookup.found_in_any(classes, name)] if classes else []

    def classes_of(self, made: ast.Call) -> list[ast.ClassDef]:
        """The classes in sight of which a call may make an object."""
        return [each for each in self.flow.sources(made.func) if isinstance(each, ast.ClassDef)]

    def below(self, place: Place) -> tuple[Function, ...]:
        """The methods that calling a part of what is at `place` may enter, as of the last time that changes were asked for."""
        bits = self.bits.get(place, 0)
        if not bits & bits - 1:
            return (self.every[bits.bit_length() - 1],) if bits else ()
        if self.ordered is None:
            parts = {
                each: [part for part in made if part in self.bits]
                for each, made in self.flow.made_of.items()
                if each in self.bits
            }
            self.ordered = gathered(parts, lambda each: parts.get(each, ()), self.own)
        return self.ordered[place]

    def own(self, place: Place) -> Iterable[Function]:
        return self.of(place) if isinstance(place, ast.Call) and place not in self.library_calls else ()

    def changed(self) -> Iterable[Place]:
        """The places of whose parts other methods may be entered since this was asked the last time."""
        grown: dict[Place, None] = {}
        pending: list[Place] = []

        def grow(place: Place, bits: int) -> None:
            old = self.bits.get(place, 0)
            if old | bits != old:
                self.bits[place] = old | bits
                grown[place] = None
                pending.append(place)

        bit: dict[Function, int] = {method: 1 << index for index, method in enumerate(self.every)}
        for place in self.flow.begun_since(self.begun_at):
            made = self.code.called.get(place)
            if made is not None:
                grow(made, sum(bit[method] for method in dict.fromkeys(self.own(made))))
        for source, edge in self.flow.added[self.added_at :]:
            if edge.kind is not Kind.NUMBER and source in self.bits:
                grow(edge.target, self.bits[source])
        self.added_at, self.begun_at = len(self.flow.added), len(self.flow.begun)
        while pending:
            place = pending.pop()
            for edge in self.flow.edges.get(place, ()):
                if edge.kind is not Kind.NUMBER:
                    grow(edge.target, self.bits[place])
        self.ordered = None
        return grown

"""Which classes in sight derive from which, and which methods of one name a lookup in a class may find.

Classes are known by the last words of their names, as their subclasses name them; those of one name count as one. A set of classes is an
integer with a bit for each, so that thousands of classes with thousands of bases each take little room.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphfix.analysis.flow.components import components

Method = ast.FunctionDef | ast.AsyncFunctionDef


class Hierarchy:
    """The classes in sight and the bases that they name.

    `number`: the bit of each name. Bases are numbered before what derives from them, so that no other class of a set derives from the
    one with the highest bit. `above`, `below`: for each number, the classes that it derives from, and those that derive from it.
    """

    def __init__(self, classes: Iterable[ast.ClassDef]) -> None:
        bases: dict[str, dict[str, None]] = {}
        for cls in classes:
            bases.setdefault(cls.name, {}).update(dict.fromkeys(map(_last_word, cls.bases)))
        self.number: dict[str, int] = {}
        self.above: list[int] = []
        groups = list(components(bases, lambda name: bases.get(name, {})))
        for members in groups:
            self.number.update(zip(members, range(len(self.number), len(self.number) + len(members))))
            self.above.extend([0] * len(members))
            above = 0
            for base in (base for member in members for base in bases.get(member, ())):
                above |= 1 << self.number[base] | self.above[self.number[base]]
            self.above[-len(members) :] = [above] * len(members)
        self.below = [0] * len(self.number)
        for members in reversed(groups):
            below = 0
            for member in members:
                below |= 1 << self.number[member] | self.below[self.number[member]]
            for base in (base for member in members for base in bases.get(member, ())):
                self.below[self.number[base]] |= below

    def derives(self, cls: ast.ClassDef, name: str) -> bool:
        """Whether `cls`, or one of its bases in sight, names a base of this name."""
        return name in self.number and bool(self.above[self.number[cls.name]] >> self.number[name] & 1)

    def inherited(self, cls: ast.ClassDef, definers: int) -> int:
        """Those of `definers` that `super()` in `cls` may find."""
        return self._most_derived(self.above[self.number[cls.name]] & definers)

    def found(self, cls: ast.ClassDef, definers: int) -> int:
        """Those of `definers` that a lookup in `cls` may find."""
        number = self.number[cls.name]
        return self._most_derived((1 << number | self.above[number]) & definers)

    def found_in_any(self, cls: ast.ClassDef, definers: int) -> int:
        """Those of `definers` that a lookup in `cls`, or in a class that derives from it, may find."""
        return self.found(cls, definers) | self.below[self.number[cls.name]] & definers

    def _most_derived(self, classes: int) -> int:
        """Those from which no other one derives: every class stands before its bases where Python looks.

        https://docs.python.org/3/howto/mro.html
        """
        first = 0
        while classes:
            number = classes.bit_length() - 1
            first |= 1 << number
            # two classes that seem to derive from each other share their names with others
            classes &= ~(1 << number | self.above[number] & ~self.below[number])
        return first


class Lookup:
    """Finds methods by their name in classes.

    `methods`: those of each name, all of them in a class of `class_of`, which is known to the `hierarchy`.
    """

    def __init__(
        self, hierarchy: Hierarchy, methods: Mapping[str, Sequence[Method]], class_of: Mapping[ast.AST, ast.ClassDef]
    ) -> None:
        self.hierarchy = hierarchy
        self.methods = methods
        self.class_of = class_of
        self._definers: dict[str, tuple[int, dict[int, list[Method]]]] = {}

    def inherited(self, cls: ast.ClassDef, name: str) -> list[Method]:
        """What `super().name` in `cls` may be."""
        definers, by_number = self._of(name)
        return _chosen(by_number, self.hierarchy.inherited(cls, definers))

    def found(self, cls: ast.ClassDef, name: str) -> list[Method]:
        """What `name` may be for an object that `cls` makes."""
        definers, by_number = self._of(name)
        return _chosen(by_number, self.hierarchy.found(cls, definers))

    def found_in_any(self, classes: Iterable[ast.ClassDef], name: str) -> list[Method]:
        """What `name` may be for an object of one of `classes`, or of a class that derives from it."""
        definers, by_number = self._of(name)
        wanted = 0
        for cls in classes if definers else ():
            wanted |= self.hierarchy.found_in_any(cls, definers)
        return _chosen(by_number, wanted)

    def _of(self, name: str) -> tuple[int, dict[int, list[Method]]]:
        """The classes that define `name`, and the methods of each."""
        known = self._definers.get(name)
        if known is None:
            by_number: dict[int, list[Method]] = {}
            for method in self.methods.get(name, ()):
                by_number.setdefault(self.hierarchy.number[self.class_of[method].name], []).append(method)
            known = self._definers[name] = sum(1 << number for number in by_number), by_number
        return known


def _chosen(by_number: Mapping[int, list[Method]], wanted: int) -> list[Method]:
    return [method for number in _numbers(wanted) for method in by_number[number]]


def _numbers(classes: int) -> Iterator[int]:
    while classes:
        lowest = classes & -classes
        yield lowest.bit_length() - 1
        classes ^= lowest


def _last_word(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""

"""The words of the flow: places that a value may be at, the ways between them, and what it is at the end of a way."""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Callable, Hashable, Iterator
from typing import NamedTuple

from graphfix.lazy_dataclass import dataclass

Place = Hashable  # an expression, a definition, or one of the classes below


class Field(NamedTuple):
    """The attribute of this name of any object."""

    name: str


class Cell(NamedTuple):
    """A name of a scope that code outside of that scope reads or writes, or that lives as long as the file."""

    scope: ast.AST
    name: str


class Result(NamedTuple):
    """What calls of a function return, or its generators yield."""

    function: ast.AST


class Between(NamedTuple):
    """What the parts of an object that a library has made, such as `nn.Sequential`, hand to one another in a call of it."""

    call: ast.Call


class Old(NamedTuple):
    """What the target of an augmented assignment held before."""

    statement: ast.AugAssign


class Kind(enum.Enum):
    """How a value gets from one place to another."""

    SAME = "is the same object"
    MADE = "is made of it: its graph is part of the new one"
    DRAWN = "may be made of it, and of all that it holds"
    SPREAD = "holds what it holds"
    WRAPPED = "holds tuples of what it holds"
    IN = "is put into it"
    POURED = "what it holds is put into it"
    OUT = "is taken out of it"
    NUMBER = "is computed from its number: no graph"

    __hash__ = object.__hash__  # that of an enum is computed in Python, and edges are hashed all the time


PUTTING = (Kind.IN, Kind.POURED)
COMPUTED = (Kind.MADE, Kind.DRAWN, Kind.NUMBER)


class Slot(enum.Enum):
    """Keys of ways into and out of mappings that are not written down: of what is a key itself, and of what keys lead to."""

    KEY = "is a key"
    VALUE = "is what a key leads to"

    __hash__ = object.__hash__


def fits(put: Hashable, taken: Hashable) -> bool:
    """Whether what is put into an object under one key may be taken out of it under another; None: it is not known, or all are."""
    if put is Slot.KEY or taken is Slot.KEY:
        return put is taken or taken is None
    return None in (put, taken) or taken is Slot.VALUE or put == taken


class Sink(enum.Enum):
    """What becomes of a value that matters to a repair."""

    WALKED = "may call backward() on it"
    ESCAPES = "is defined outside the analysed code, and may call backward() on it or keep it"
    ASKED = "depends on whether it has a graph, or compares it by identity"

    __hash__ = object.__hash__


def is_attribute(key: Hashable) -> bool:
    """Whether an object holds a value of this key as an attribute."""
    return isinstance(key, str) and key.startswith(".")


class Held(NamedTuple):
    """A value that an object holds: under which key (None where that is not known), and how deep inside, from 1 to `DEEPEST`.

    `back`: the object was given the value here, so that the places where it comes from hold it as well. Once the object has gone
    on to another place, what else may get there has nothing to do with it. `hidden`: it is an attribute of something that the object
    holds, which the text of the object need not tell.
    """

    key: Hashable = None
    depth: int = 1
    back: bool = False
    hidden: bool = False

    @property
    def is_attribute(self) -> bool:
        return is_attribute(self.key)


# levels of containers that are told apart
DEEPEST = 4
ITSELF = None
Part = Held | None  # None: the value itself


class Edge(NamedTuple):
    """`crosses`: what comes this way may be from an earlier iteration, or reach several.

    `call`: the call by which the value gets into a function, or (where it `leaves`) out of it.
    """

    target: Place
    kind: Kind
    key: Hashable = None
    crosses: bool = False
    call: ast.Call | None = None
    leaves: bool = False


class Use(NamedTuple):
    """What is done with the value at a place: `how` it is used by the code at `site`."""

    how: str
    name: str
    site: ast.AST


class GivenUp(ast.Pass):
    """The site of an arrival that stands for all further places: there were too many to follow."""


class Arrival(NamedTuple):
    """A sink that a value may reach. `crosses`: in another iteration than the one that made it."""

    sink: Sink
    site: ast.AST
    crosses: bool


@dataclass
class Reach:
    """All that may become of a value. `look`: where it may get to, told to who asks."""

    arrivals: list[Arrival]
    look: Callable[[], dict[tuple[Place, Part], bool]]

    @functools.cached_property
    def places(self) -> dict[tuple[Place, Part], bool]:
        """Each place that it may get to, with the part that it is there, and whether that may be in another iteration."""
        return self.look()

    def of(self, *sinks: Sink) -> Iterator[Arrival]:
        return (arrival for arrival in self.arrivals if arrival.sink in sinks)


@functools.lru_cache(maxsize=4096)
def after(kind: Kind, key: Hashable, part: Part, numbers: bool) -> tuple[Part, ...]:
    """What a value, or what an object holds as `part`, is at the end of an edge; empty where it does not get there."""
    if kind is Kind.SAME:
        return (part and part._replace(back=False),)
    if part is ITSELF:
        if kind in (Kind.IN, Kind.POURED):
            return (Held(key, 1, True),)
        return (ITSELF,) if kind is not Kind.NUMBER or numbers else ()
    if kind is Kind.IN:
        return (Held(key, deeper(part.depth), True, part.hidden or part.is_attribute),)
    if kind is Kind.POURED:
        return (part._replace(back=True),)
    if kind is Kind.NUMBER:
        return (ITSELF,) if numbers else ()
    if kind is Kind.OUT:
        return taken_out(part, key)
    if part.is_attribute and kind is not Kind.DRAWN:
        return (part._replace(back=False),)
    if kind is Kind.SPREAD:
        return (Held(None, part.depth, False, part.hidden),) if key is not Slot.VALUE or part.key is not Slot.KEY else ()
    if kind is Kind.WRAPPED:
        return (Held(Slot.KEY if key is part.key is Slot.KEY else None, deeper(part.depth), False, part.hidden),)
    return (ITSELF, *(Held(None, depth, False, part.hidden) for depth in range(1, part.depth + 1)))


def taken_out(part: Held, key: Hashable) -> tuple[Part, ...]:
    if part.is_attribute or part.depth > 1 and is_attribute(key):
        return ()  # attributes are places of their own
    if part.key is Slot.KEY and part.depth > 1:
        return (Held(0, part.depth - 1, False, part.hidden),)  # `d.items()` gives each key as the first of two
    if not fits(part.key, key):
        return ()
    if part.depth == 1:
        return (ITSELF,)
    depths = (part.depth - 1, part.depth) if part.depth == DEEPEST else (part.depth - 1,)
    return tuple(Held(None, depth, False, part.hidden) for depth in depths)


def deeper(depth: int) -> int:
    """One level further inside, as far as levels are told apart."""
    return min(depth + 1, DEEPEST)

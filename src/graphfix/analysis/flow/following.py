"""Following values through a flow graph, state by state.

A question passes through tens of thousands of states, so that each is one number, and the ways on from a place are laid out once
for all questions. A way is looked at when its turn comes: a question that ends early has not paid for the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from graphfix.analysis.flow.places import (
    COMPUTED,
    ITSELF,
    Arrival,
    Edge,
    Field,
    GivenUp,
    Held,
    Kind,
    Old,
    Part,
    Place,
    Result,
    Sink,
    after,
    deeper,
    taken_out,
)
from graphfix.effects.methods import shares_memory

if TYPE_CHECKING:
    from graphfix.analysis.flow.graph import FlowGraph

# A state: from its lowest bit on whether an iteration was crossed, the call by which the function was entered (0: any), the part
# of an object that is followed (0: the object itself), and the place.
PART, PLACE = 24, 48
CALLER = (1 << PART) - 2
HELD = (1 << PLACE) - (1 << PART)
CROSSED = 1
# instead of a call: the one that is there stays, and no call is like it
STAYS = NO_CALL = -1


class Moves(dict[int, tuple[int, ...]]):
    """For each part what it is at the end of a way, as bits of states."""

    def __init__(self, following: Following, move: Callable[[Part], tuple[Part, ...]]) -> None:
        self.following = following
        self.move = move

    def __missing__(self, part: int) -> tuple[int, ...]:
        there = tuple(map(self.following.part, self.move(self.following.parts[part >> PART])))
        self[part] = there
        return there


class Way(NamedTuple):
    """A way on from a place. `guard`: the call by which alone it is taken, or 0; `via`: the call of the states there, or `STAYS`."""

    target: int
    moves: Moves
    guard: int
    via: int
    crossed: int


class Leads(NamedTuple):
    """What lies at a place. The ways are in the order in which they are taken; `back`: those of an object to its aliases."""

    ways: list[Way]
    back: list[Way]
    ends: list[tuple[Sink, ast.AST]]
    opaque: ast.AST | None


class LeadsTo(dict[int, Leads]):
    """For each place what lies there, without the edges of kinds that are passed by."""

    def __init__(self, following: Following, past: frozenset[Kind]) -> None:
        self.following = following
        self.past = past

    def __missing__(self, place: int) -> Leads:
        self[place] = leads = self.following.leads_of(place, self.past)
        return leads


class Following:
    """Follows values through a graph whose edges are all there."""

    def __init__(self, graph: FlowGraph, is_barred: Callable[[Place, Edge], bool] | None = None) -> None:
        """`is_barred`: whether nothing is followed by an edge that leaves a place."""
        self.graph = graph
        self.is_barred = is_barred if is_barred is not None else lambda source, edge: False
        self.size = graph.size
        self.places: list[Place] = []
        self.numbers: dict[Place, int] = {}
        self.parts: list[Part] = [ITSELF]
        self.bits: dict[Part, int] = {ITSELF: 0}
        self.given_back: set[int] = set()
        self.calls: dict[ast.Call, int] = {}
        self.moves: dict[tuple[object, ...], Moves] = {}
        self.leads: dict[frozenset[Kind], LeadsTo] = {}

    def follow(
        self, starts: Iterable[Place], held: Iterable[Place], without: Collection[Place], past: frozenset[Kind], most: int
    ) -> tuple[dict[int, None], dict[Arrival, None]]:
        """The states that may be reached, in order, and what is met there. `past`: kinds of edges that are passed by.

        `most`: states after which the question ends with one more way, to code that is not in sight.
        """
        leads = self.leads.setdefault(past, LeadsTo(self, past))
        given_back = self.given_back
        barred = {self.number(place) for place in without}
        seen: dict[int, None] = {}
        told: dict[Arrival, None] = {}
        # states whose turn comes later, and ways that are not yet taken to their end
        pending: list = [self.number(start) << PLACE for start in starts]
        pending += [self.number(holder) << PLACE | self.part(Held(None, 1, True)) for holder in held]
        while pending:
            state = top = pending.pop()
            if type(top) is tuple:
                ways, part, caller, crossed = top
                for target, moves, guard, via, crosses in ways:
                    if guard and caller and caller != guard:
                        continue
                    there = moves[part]
                    rest = target | (caller if via == STAYS else via) | crossed | crosses
                    if len(there) == 1:
                        state = rest | there[0]
                        if state not in seen:
                            pending.append(top)
                            break
                    elif there:
                        pending.append(top)
                        pending.extend([rest | each for each in there])
                        state = pending.pop()
                        break
                else:
                    continue
            place = state >> PLACE
            if state in seen or place in barred:
                continue
            if len(seen) > most:
                told[Arrival(Sink.ESCAPES, GivenUp(), True)] = None
                break
            caller = state & CALLER
            if caller and state - caller in seen:
                continue
            seen[state] = None
            part, crossed = state & HELD, state & CROSSED
            ways, back, ends, opaque = leads[place]
            if ends:
                told.update({Arrival(sink, site, bool(crossed)): None for sink, site in ends})
            if part and opaque is not None:
                told[Arrival(Sink.ESCAPES, opaque, True)] = None
            if ways:
                pending.append((iter(ways), part, caller, crossed))
            if back and part in given_back:
                pending.append((iter(back), part, caller, crossed))
        return seen, told

    def places_of(self, states: Iterable[int]) -> dict[tuple[Place, Part], bool]:
        """The places of states with the part that is followed there, and whether any of them has crossed an iteration."""
        found: dict[int, bool] = {}
        for state in states:
            spot = state >> PART
            found[spot] = bool(state & CROSSED) or found.get(spot, False)
        part = (1 << PLACE - PART) - 1
        return {(self.places[spot >> PLACE - PART], self.parts[spot & part]): crossed for spot, crossed in found.items()}

    def leads_of(self, place: int, past: frozenset[Kind]) -> Leads:
        at = self.places[place]
        ways = [self.way(edge) for edge in self.graph.edges.get(at, ()) if edge.kind not in past and not self.is_barred(at, edge)]
        return Leads(ways[::-1], list(self.back(at))[::-1], list(self.graph.sinks.get(at, ())), self.graph.opaque.get(at))

    def way(self, edge: Edge) -> Way:
        target, kind, key, crosses, call, leaves = edge
        moves = self.moving((kind, key), lambda part: after(kind, key, part, True))
        via = STAYS if call is None and not crosses else 0 if leaves or crosses else self.call(call)
        return Way(self.number(target) << PLACE, moves, self.call(call) if leaves else 0, via, int(crosses))

    def back(self, place: Place) -> Iterator[Way]:
        """The places at which an object lay before something was put into it: they hold it as well."""
        same = self.moving(("same",), lambda part: (part,))
        for source, edge in self.graph.values.get(place, {}).items():
            if isinstance(place, Old) and is_alone(self.graph, source) or self.is_barred(source, edge):
                continue
            stays = edge.call is None and not edge.crosses
            call = self.call(edge.call) if edge.call is not None else 0
            via = STAYS if stays else call if edge.leaves else 0
            yield Way(self.number(source) << PLACE, same, 0 if edge.leaves else call, via, 0)
        for source, edge in self.graph.taken_from.get(place, {}).items():
            if not self.is_barred(source, edge):
                yield self.out_of(source, edge.key)
        for source, edge in self.graph.parts_of.get(place, {}).items() if isinstance(place, Result) else ():
            yield self.into_item(source, edge.key)  # what a generator yields
        if isinstance(place, ast.Attribute) and Field(place.attr) not in self.graph.values:  # of an object that is not in sight
            yield self.out_of(place.value, f".{place.attr}")

    def out_of(self, container: Place, key: object) -> Way:
        """The way back to what the object was taken out of."""
        moves = self.moving(("out", key), lambda part: (Held(key, deeper(part.depth), True),) if part else ())  # type: ignore[arg-type]
        return Way(self.number(container) << PLACE, moves, 0, STAYS, 0)

    def into_item(self, item: Place, key: Hashable) -> Way:
        """The way to what a generator yields, where something was put into what was taken out of that."""

        def inside(part: Part) -> tuple[Part, ...]:
            taken = taken_out(part, key) if part is not ITSELF and part.depth > 1 else ()
            return tuple(each._replace(back=True) for each in taken if each is not ITSELF)  # type: ignore[union-attr]

        return Way(self.number(item) << PLACE, self.moving(("into", key), inside), 0, STAYS, 0)

    def moving(self, name: tuple[object, ...], move: Callable[[Part], tuple[Part, ...]]) -> Moves:
        """The moves of this name, made by `move`."""
        known = self.moves.get(name)
        if known is None:
            known = self.moves[name] = Moves(self, move)
        return known

    def number(self, place: Place) -> int:
        number = self.numbers.get(place)
        if number is None:
            number = self.numbers[place] = len(self.places)
            self.places.append(place)
        return number

    def part(self, part: Part) -> int:
        """The bits of a part."""
        bits = self.bits.get(part)
        if bits is None:
            bits = self.bits[part] = len(self.parts) << PART
            self.parts.append(part)
            if part is not ITSELF and part.back:
                self.given_back.add(bits)
        return bits

    def call(self, call: ast.Call | None) -> int:
        """The bits of a call."""
        return self.calls.setdefault(call, len(self.calls) + 1 << 1) if call is not None else NO_CALL


def is_alone(graph: FlowGraph, name: Place) -> bool:
    """Whether an object is new where a variable gets it, and nothing but that variable ever holds it.

    Then nobody sees what an augmented assignment puts into it but who reads the variable behind that: which is what it gives.
    """
    made = graph.values.get(name, {})
    if not isinstance(name, ast.Name) or not made or not all(_is_new(graph, each, name) for each in made):
        return False
    return all(isinstance(edge.target, Old) or _only_reads(graph, edge.target) for edge in graph.edges.get(name, ()))


def _is_new(graph: FlowGraph, made: Place, name: ast.Name) -> bool:
    """Whether what is computed at a place is an object of its own, which goes to the variable alone."""
    if not isinstance(made, (ast.Call, ast.BinOp, ast.UnaryOp)) or made in graph.opaque or made in graph.views:
        return False
    if isinstance(made, ast.Call) and (_may_give_view(made.func) or any(keyword.arg == "out" for keyword in made.keywords)):
        return False
    alone = all(edge.target is name for edge in graph.edges.get(made, ()))
    return alone and not graph.values.get(made) and not graph.taken_from.get(made)


def _only_reads(graph: FlowGraph, read: Place) -> bool:
    """Whether an object that is read there is computed with, or a method of it is called, and nobody gets hold of it, or of its memory."""
    if any(sink is Sink.ESCAPES for sink, _ in graph.sinks.get(read, ())):
        return False
    edges = graph.edges.get(read, ())
    methods = [edge.target for edge in edges if edge.kind is Kind.OUT]
    if not all(isinstance(each, ast.Attribute) and not _may_give_view(each) for each in methods):
        return False
    gets = [edge for place in (read, *methods) for edge in graph.edges.get(place, ()) if edge.kind is not Kind.OUT]
    functions = [edge.target.func for edge in gets if isinstance(edge.target, ast.Call)]
    of_methods = all(isinstance(each, ast.Attribute) and each.value is read for each in functions)
    return of_methods and all(edge.kind in COMPUTED for edge in gets)


def _may_give_view(function: ast.expr) -> bool:
    """Whether a method gives what may lie in the memory of its object."""
    return isinstance(function, ast.Attribute) and shares_memory(function.attr)


def past(numbers: bool, made: bool) -> frozenset[Kind]:
    """The kinds of edges that a question passes by."""
    return frozenset(() if numbers else (Kind.NUMBER,)) | frozenset(() if made else COMPUTED)


def _site(place: Place) -> ast.AST:
    """A node that stands for a place which may be none."""
    if isinstance(place, ast.AST):
        return place
    if isinstance(place, tuple):
        return next((part for part in place if isinstance(part, ast.AST)), ast.Pass(lineno=1, col_offset=0))
    return ast.Pass()

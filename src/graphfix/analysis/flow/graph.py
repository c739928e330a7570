"""Where values may go: places, the edges between them, and what lies at the end of all ways from a place.

Over-approximate and without policy: what is not found here does not happen, as far as the code is in sight. A question that leads
through more states than are followed is answered by one more way, to code that is not in sight.
A value is followed either as itself or as something that an object holds; the way that leads from the one to the other is
an `IN` edge, the way back an `OUT` edge, and an object's aliases are followed in both directions, as what is put into one is
in all (an inclusion-based points-to analysis without fields but for constant keys: Andersen, Program Analysis and
Specialization for the C Programming Language, 1994, chapter 4).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import field

from graphfix.analysis.flow.components import Gathering
from graphfix.analysis.flow.following import Following, past
from graphfix.analysis.flow.places import PUTTING, Arrival, Edge, Field, Kind, Place, Reach, Sink, Slot, Use, fits, is_attribute
from graphfix.lazy_dataclass import dataclass

# states that one question follows
MAX_STATES = 60_000
# that are linked: a thousand methods that may each call a thousand others are a million
MAX_EDGES = 400_000
# answers that are kept: several proofs of one fix ask the same
MOST_ANSWERS = 4


class TooManyEdges(Exception):
    """The code leads to more places than are linked."""


@dataclass
class FlowGraph:
    """The places of a file and of what it imports.

    `size`: how many edges there are. `added`: all of them, in order. `begun`: the places of which it became known that their objects
    begin elsewhere, in order; `begun_at`: how many edges were known then; `outdated`: some have been added since.
    `contents`: what was found out of what objects hold. `answers`: the latest of `reach`.
    `opaque`: places whose value code that is not in sight has made, and may know.
    `views`: calls of which the result may lie in the memory of what they are given, or be that.
    `is_guess`: whether a value goes an edge only where a guess about what is called is right.
    `uses`: what the code does with the value at a place. `values` and `passed`: the edges that keep the object, backward and forward;
    `taken_from`: as far as they take it out of another; `parts_of`: as far as they put it into one.
    """

    edges: dict[Place, dict[Edge, None]] = field(default_factory=dict)
    values: dict[Place, dict[Place, Edge]] = field(default_factory=dict)
    passed: dict[Place, dict[Place, None]] = field(default_factory=dict)
    taken_from: dict[Place, dict[Place, Edge]] = field(default_factory=dict)
    made_of: dict[Place, dict[Place, None]] = field(default_factory=dict)
    parts_of: dict[Place, dict[Place, Edge]] = field(default_factory=dict)
    sinks: dict[Place, dict[tuple[Sink, ast.AST], None]] = field(default_factory=dict)
    uses: dict[Place, dict[Use, None]] = field(default_factory=dict)
    opaque: dict[Place, ast.AST] = field(default_factory=dict)
    views: dict[Place, None] = field(default_factory=dict)
    size: int = 0
    contents: dict[tuple[Hashable, Hashable], tuple[tuple[Place, ...], tuple[Place, ...]]] = field(default_factory=dict)
    answers: dict[tuple[Hashable, ...], Reach] = field(default_factory=dict)
    following: dict[bool, Following] = field(default_factory=dict)
    is_guess: Callable[[Place, Edge], bool] | None = None
    added: list[tuple[Place, Edge]] = field(default_factory=list)
    begun: list[Place] = field(default_factory=list)
    begun_at: int = 0
    outdated: bool = True

    def __post_init__(self) -> None:
        self.begin: Gathering[Place, Place] = Gathering(
            self.brought, lambda place: self.passed.get(place, ()), lambda place: () if self.values.get(place) else (place,)
        )

    def add(
        self, source: Place, target: Place, kind: Kind, key: Hashable = None, crosses: bool = False,
        call: ast.Call | None = None, leaves: bool = False,
    ) -> None:  # fmt: skip
        edge = tuple.__new__(Edge, (target, kind, key, crosses, call, leaves))  # there are a hundred thousand: it saves a call
        edges = self.edges.get(source)
        if edges is None:
            self.edges[source] = {edge: None}
        elif edge in edges:
            return
        else:
            edges[edge] = None
        self.size += 1
        self.added.append((source, edge))
        if kind is Kind.SAME:
            self.values.setdefault(target, {})[source] = edge
            self.passed.setdefault(source, {})[target] = None
        elif kind is Kind.OUT and not is_attribute(key):
            self.taken_from.setdefault(target, {})[source] = edge
        elif kind in PUTTING:
            self.parts_of.setdefault(target, {})[source] = edge
        if kind is not Kind.NUMBER:
            self.made_of.setdefault(target, {})[source] = None
        if self.size > MAX_EDGES:
            raise TooManyEdges

    def end(self, place: Place, sink: Sink, site: ast.AST) -> None:
        self.sinks.setdefault(place, {})[sink, site] = None
        self.following = {}

    def use(self, place: Place, how: str, name: str, site: ast.AST) -> None:
        self.uses.setdefault(place, {})[Use(how, name, site)] = None

    def reach(
        self, starts: Iterable[Place], numbers: bool = False, without: Collection[Place] = (), made: bool = True,
        held: Iterable[Place] = (), sure: bool = False,
    ) -> Reach:  # fmt: skip
        """All that may become of the values at `starts`.

        A value that gets into a function by a call leaves it by the same (call strings of length one: Sharir and Pnueli,
        Two Approaches to Interprocedural Data Flow Analysis, 1981). `numbers`: followed as a number that is computed with.
        `without`: places through which nothing is followed. `made`: followed into what is computed with it, not only where the
        object itself goes. `held`: objects under whose keys further values are put. `sure`: not where only a guess about what is called
        leads. The last answers are kept.
        """
        question = (tuple(starts), frozenset(without), tuple(held), numbers, made, sure, self.size)
        answer = self.answers.pop(question, None) or self._reach(*question[:6])
        self.answers[question] = answer
        while len(self.answers) > MOST_ANSWERS:
            self.answers.pop(next(iter(self.answers)))
        return answer

    def _reach(
        self, starts: tuple[Place, ...], without: frozenset[Place], held: tuple[Place, ...], numbers: bool, made: bool, sure: bool
    ) -> Reach:
        followed = self.following.get(sure)
        if followed is None or followed.size != self.size:
            followed = self.following[sure] = Following(self, self.is_guess if sure else None)
        states, told = followed.follow(starts, held, without, past(numbers, made), MAX_STATES)
        return Reach(sorted(told, key=_position), lambda: followed.places_of(states))

    def spread(self, starts: Iterable[Place]) -> set[Place]:
        """Every place to which something of the values at `starts` may get, whatever part of an object it is there."""
        seen = set(starts)
        pending = list(seen)
        asked: set[Place] = set()

        def go(targets: Iterable[Place]) -> None:
            new = [target for target in targets if target not in seen]
            seen.update(new)
            pending.extend(new)

        while pending:
            for edge in self.edges.get(pending.pop(), ()):
                of_keys = edge.key is Slot.KEY and edge.kind is not Kind.WRAPPED  # pairs hold the values, too
                if edge.kind is not Kind.NUMBER and not of_keys:  # most keys are places in a tensor or an array
                    go((edge.target,))
                if edge.kind in PUTTING and edge.key is not Slot.KEY:
                    go(self.origins(edge.target, asked))
        return seen

    def origins(self, place: Place, asked: set[Place]) -> Iterator[Place]:
        """Where the objects at `place` begin, and the containers that those are taken out of; none that are before a place which was `asked`."""
        pending = [place] if place not in asked else []
        asked.update(pending)
        while pending:
            current = pending.pop()
            before = self.brought(current)
            if not before:
                yield current
                before = self.taken_from.get(current, ())
            new = [source for source in before if source not in asked]
            asked.update(new)
            pending.extend(new)

    def below(self, place: Place, objects: bool = True) -> set[Place]:
        """Every place of which the value at `place` may be made, itself included.

        `objects`: an attribute that the code assigns itself is made of all that its object holds, too.
        """
        seen = {place}
        return seen.union(self.further(place, seen, set(), objects))

    def further(self, place: Place, seen: set[Place], known: set[Place], objects: bool = True) -> Iterator[Place]:
        """The same of several places, one after another: what is not among those `seen`, to which it is added. `known`: as for `parts`."""
        pending = [place]
        while pending:
            current = pending.pop()
            own = not objects and isinstance(current, ast.Attribute) and Field(current.attr) in self.values
            for source in self.parts(current, set() if own else known):
                if source not in seen and not (own and source is current.value):
                    seen.add(source)
                    pending.append(source)
                    yield source

    def parts(self, place: Place, known: set[Place]) -> Iterator[Place]:
        """What the value at `place` is made of at once: the places before it, and what is put into the object that begins there.

        `known`: as for `contents_of`.
        """
        yield from self.made_of.get(place, ())
        yield from self.contents_of(place, known)

    def contents_of(self, beginning: Place, known: set[Place]) -> tuple[Place, ...]:
        """What is put into an object under any of its names, given where it begins, as far as the edges are there by now.

        `known`: the names whose contents one search has been told; they are added to it, and told no more.
        """
        if beginning in self.values or beginning in known:
            return ()
        known.add(beginning)
        return tuple(dict.fromkeys(source for source, _ in self.entries_of([beginning], known)))

    def entries_of(self, beginnings: Iterable[Place], seen: set[Place]) -> Iterator[tuple[Place, Edge]]:
        """The same of all objects that begin at these places, with the edge that says under which key. `seen`: they, and what is known."""
        pending = list(beginnings)
        while pending:
            place = pending.pop()
            yield from self.parts_of.get(place, {}).items()
            new = [target for target in self.passed.get(place, ()) if target not in seen]
            seen.update(new)
            pending.extend(new)

    def taken_by(self, place: Place) -> Iterator[Place]:
        """What is put into the containers that `place` is taken out of, under a key that may be its own; each once."""
        containers = [(self.sources(container), edge.key) for container, edge in self.taken_from.get(place, {}).items()]
        # many containers have one answer to where they begin; `containers` keeps each alive, with what its identity stands for
        asked = {(id(beginnings), key): beginnings for beginnings, key in containers}
        yield from dict.fromkeys(each for (_, key), beginnings in asked.items() for each in self.put_into(beginnings, key))

    def put_into(self, beginnings: tuple[Place, ...], key: Hashable) -> tuple[Place, ...]:
        """What is put into the objects that begin at these places, under a key that may be `key`."""
        asked = beginnings[0] if len(beginnings) == 1 else id(beginnings)
        known = self.contents.get((asked, key))
        if known is not None:
            return known[1]
        entries = self.entries_of(beginnings, set(beginnings))
        # the keys of a mapping are told apart from what it holds where that is asked for
        fitting = (
            source
            for source, entry in entries
            if entry.kind is Kind.IN and (key is Slot.KEY or entry.key is not Slot.KEY) and fits(entry.key, key)
        )
        found = tuple(dict.fromkeys(fitting))
        self.contents[asked, key] = beginnings, found
        return found

    @property
    def beginnings(self) -> dict[Place, tuple[Place, ...]]:
        """For each place, where the objects come from that may be there."""
        self.begin_anew()
        return self.begin.found

    def begin_anew(self) -> None:
        """Find out where objects begin behind the places to which edges lead that have been added."""
        if not self.outdated:
            return
        self.outdated = False
        before = self.begin.forget([edge.target for _, edge in self.added[self.begun_at :] if edge.kind is Kind.SAME])
        self.begun_at = len(self.added)
        new = self.begin.gather([place for place in self.values if place not in self.begin.found])
        self.begun.extend(place for place in new if before.get(place, (place,)) != self.begin.found[place])

    def brought(self, place: Place) -> Collection[Place]:
        """The places from which the object at `place` gets there at once."""
        return self.values.get(place, ())

    def forget_beginnings(self) -> None:
        """Edges have been added: what was found out about objects no longer holds."""
        self.outdated = True
        self.contents.clear()

    def begun_since(self, count: int) -> list[Place]:
        """The places of which it became known that their objects begin elsewhere, after `count` of them."""
        self.begin_anew()
        return self.begun[count:]

    def sources(self, place: Place) -> tuple[Place, ...]:
        """Where the object at `place` may come from: places to which no other brings it, as far as was known when asked first."""
        return self.beginnings.get(place, (place,))


def _position(arrival: Arrival) -> tuple[int, int, str, bool]:
    return (getattr(arrival.site, "lineno", 0), getattr(arrival.site, "col_offset", 0), arrival.sink.name, arrival.crosses)

"""What a call may enter: what may be at the place that is called, followed through names, attributes and containers."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from graphfix.analysis.flow import library
from graphfix.analysis.flow.components import Gathering, gathered
from graphfix.analysis.flow.entrances import Entrances
from graphfix.analysis.flow.functions import DISPLAYS, arguments
from graphfix.analysis.flow.methods import Methods
from graphfix.analysis.flow.places import PUTTING, Kind, Place
from graphfix.analysis.flow.sight import Sight


class Role(enum.Enum):
    """What the object at a place has to do with the one that is called."""

    CALLED = "it is called"
    HOLDS = "it, or what made it, holds what is called"
    NAMED = "what is put into it here may be called"

    __hash__ = object.__hash__  # that of an enum is computed in Python, and states are hashed all the time


class State(NamedTuple):
    place: Place
    role: Role = Role.CALLED


class Callee(NamedTuple):
    """What may be called: code in sight (a function, a class, the entrance of an object), or none (`code` is None).

    `tame`: a library that is well known has made it. `is_part`: of a layer of torch that runs others, as `nn.Sequential` does.
    `is_applied`: the operation that a class defines, by a method of its base: `relu = Relu.apply`.
    """

    code: ast.AST | None
    is_entrance: bool = False
    tame: bool = False
    is_part: bool = False
    is_applied: bool = False


UNKNOWN = Callee(None)
OF_LIBRARY = Callee(None, tame=True)


class Callables:
    """What may be called, as far as the ways are linked by now: asked anew where more have been.

    `known`: what lies before a state, and `behind` the other way round; `ends`: what is called where the ways to a state begin.
    `passed`: the places of all states.
    """

    def __init__(self, code: Sight, methods: Methods, library_calls: dict[ast.Call, None]) -> None:
        self.code = code
        self.flow = code.flow
        self.methods = methods
        self.library_calls = library_calls
        self.entrances = Entrances(code, methods, library_calls)
        self.known: dict[State, list[State]] = {}
        self.behind: dict[State, dict[State, None]] = {}
        self.passed: set[Place] = set()
        self.ends = Gathering(self.before, lambda state: self.behind.get(state, ()), self.callees)
        self.added_at = self.begun_at = 0

    def of(self, calls: Iterable[ast.Call]) -> dict[ast.Call, tuple[Callee, ...]]:
        """What each of `calls` may enter."""
        asked = {call: State(call.func) for call in calls}
        self.forget_changed()
        self.ends.gather(asked.values())
        return {call: self.ends.found[state] for call, state in asked.items()}

    def forget_changed(self) -> None:
        """Drop what was found out of places of which more is known by now, and of all that comes from them."""
        places: dict[Place, None] = {}
        for source, edge in self.flow.added[self.added_at :]:
            if edge.kind is Kind.SAME:
                places[source] = places[edge.target] = None
            elif edge.kind in PUTTING or edge.kind is Kind.OUT:
                places[edge.target] = None
        states = [State(place, role) for place in places if place in self.passed for role in Role]
        states += [State(self.code.called[place]) for place in self.flow.begun_since(self.begun_at) if place in self.code.called]
        states += [State(place) for place in self.entrances.changed()]
        self.added_at, self.begun_at = len(self.flow.added), len(self.flow.begun)
        for state in states:
            self.known.pop(state, None)
        self.ends.forget(states)

    def makers(self, function: ast.expr) -> list[ast.Call]:
        """The calls that may have made the object which `function` is."""
        state = State(function)
        ends = gathered(
            [state], self.before, lambda each: () if each.role is not Role.CALLED or self.before(each) else (each.place,)
        )
        return [place for place in ends[state] if isinstance(place, ast.Call)]

    def before(self, state: State) -> list[State]:
        """The places, and the containers, from which what is called gets to the one of `state` at once."""
        if state not in self.known:
            self.known[state] = self._before(state)
            self.passed.add(state.place)
            for each in self.known[state]:
                self.behind.setdefault(each, {})[state] = None
        return self.known[state]

    def _before(self, state: State) -> list[State]:
        place = state.place
        if state.role is Role.CALLED:
            before = self.flow.values.get(place)
            if before:
                return [State(source) for source in before]
            return [State(container, Role.HOLDS) for container in self.flow.taken_from.get(place, ())]
        if state.role is Role.NAMED:
            return [*self.put_into(place), *(State(name, Role.NAMED) for name in self.flow.passed.get(place, ()))]
        return self.held_by(place)

    def held_by(self, container: Place) -> list[State]:
        """What `container` may hold, and what it may be, or lie in."""
        held = self.put_into(container)
        before = self.flow.values.get(container, ())
        if not before:
            held.extend(State(name, Role.NAMED) for name in self.flow.passed.get(container, ()))
        inner = [*before, *self.flow.taken_from.get(container, ())]
        if isinstance(container, ast.Call) and not inner:
            inner = [*arguments(container), *self.receiver(container)]
            method = isinstance(container.func, ast.Attribute) and library.is_method(container.func.attr)
            if not method and not library.is_container(self.code.calls.get(container, "")):
                held.append(State(container))  # what it gives holds parts of its own
        elif not inner and not isinstance(container, DISPLAYS):
            held.append(State(container))
        return [*held, *(State(each, Role.HOLDS) for each in inner)]

    def put_into(self, place: Place) -> list[State]:
        """What is put into the object at `place` here; of what is poured into it, only what that holds."""
        parts = self.flow.parts_of.get(place, {})
        return [State(part, Role.HOLDS if edge.kind is Kind.POURED else Role.CALLED) for part, edge in parts.items()]

    def callees(self, state: State) -> Iterator[Callee]:
        """What is called where a way begins."""
        place = state.place
        if state.role is not Role.CALLED or self.before(state):
            return
        if isinstance(place, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            yield Callee(place)
        elif isinstance(place, ast.Call) and self.code.calls.get(place) == "type" and len(place.args) == 1:
            yield from map(Callee, self.classes_at(place.args[0]))
        elif isinstance(place, ast.Call) and self.entrances.classes_of(place):
            for method in self.entrances.of(place):
                yield Callee(method, is_entrance=True)
        elif place in self.methods.selves:  # an object calls itself: `self(x)`
            yield from [Callee(each, is_entrance=True) for each in self.entrances.of_class(self.methods.selves[place])] or [UNKNOWN]
        elif isinstance(place, ast.Call) and self.is_tame(place):
            yield OF_LIBRARY
            holds = arguments(place) and not library.is_made_of_numbers(self.code.calls[place])
            is_part = library.is_layer(self.code.calls[place])
            for method in self.entrances.below(place) if holds else ():
                yield Callee(method, is_entrance=True, is_part=is_part)
        elif isinstance(place, ast.Attribute) and (classes := self.methods.operations(place)):
            yield from (Callee(cls, is_applied=True) for cls in classes)
        elif library.only_computes(self.named(place)):
            yield OF_LIBRARY
        elif not isinstance(place, ast.Constant):
            yield UNKNOWN

    def named(self, place: Place) -> str:
        """The full name of a library's function that stands at a place as a value: `F.relu if plain else F.gelu`."""
        if isinstance(place, ast.alias):
            return self.code.library_names.get(place, "")
        return self.code.dotted(place) or "" if isinstance(place, (ast.Name, ast.Attribute)) else ""

    def classes_at(self, place: Place) -> list[ast.ClassDef]:
        """The classes in sight of which an object may be."""
        made = (source for source in self.flow.sources(place) if isinstance(source, ast.Call))
        return [cls for call in made for cls in self.entrances.classes_of(call)]

    def receiver(self, call: ast.Call) -> list[ast.expr]:
        return [call.func.value] if isinstance(call.func, ast.Attribute) and not self.code.calls.get(call) else []

    def is_tame(self, call: ast.Call) -> bool:
        """Whether a library that is well known has made what the call gives."""
        dotted = self.code.calls.get(call, "")
        return bool(dotted) and library.lets_go(dotted)

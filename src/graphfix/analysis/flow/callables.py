"""What a call may enter: what may be at the place that is called, followed through names, attributes and containers."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from graphfix.analysis.flow import library
from graphfix.analysis.flow.components import gathered
from graphfix.analysis.flow.expressions import arguments
from graphfix.analysis.flow.methods import DISPLAYS, Methods
from graphfix.analysis.flow.places import Kind, Place
from graphfix.analysis.flow.sight import Sight

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# calls through these reach the method of another name: torch.nn.Module.__call__
ENTRANCES = ("__call__", "forward")


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

    `tame`: a library that is well known has made it.
    """

    code: ast.AST | None
    is_entrance: bool = False
    tame: bool = False


UNKNOWN = Callee(None)
OF_LIBRARY = Callee(None, tame=True)


class Callables:
    """What may be called, as far as the ways are linked by now: asked anew where more have been."""

    def __init__(self, code: Sight, methods: Methods, library_calls: dict[ast.Call, None]) -> None:
        self.code = code
        self.flow = code.flow
        self.methods = methods
        self.library_calls = library_calls
        self.known: dict[State, list[State]] = {}

    def of(self, calls: Iterable[ast.Call]) -> dict[ast.Call, tuple[Callee, ...]]:
        """What each of `calls` may enter."""
        asked = list(calls)
        found = gathered((State(call.func) for call in asked), self.before, self.callees)
        return {call: found[State(call.func)] for call in asked}

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
            method = isinstance(container.func, ast.Attribute) and container.func.attr in library.COMMON
            if not method and self.code.calls.get(container) not in library.HOLDERS:
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
        elif isinstance(place, ast.Call) and self.classes_of(place):
            for method in self.entrances_of(place):
                yield Callee(method, is_entrance=True)
        elif isinstance(place, ast.Call) and self.is_tame(place):
            yield OF_LIBRARY
            for method in self.entrances_below.get(place, ()) if arguments(place) else ():
                yield Callee(method, is_entrance=True)
        elif not isinstance(place, ast.Constant):
            yield UNKNOWN

    def classes_of(self, made: ast.Call) -> list[ast.ClassDef]:
        """The classes in sight of which a call may make an object."""
        return [each for each in self.flow.sources(made.func) if isinstance(each, ast.ClassDef)]

    def entrances_of(self, made: ast.Call) -> Iterator[Function]:
        """The methods that calling the object which `made` makes may enter."""
        classes = self.classes_of(made)
        for name in ENTRANCES if classes else ():
            for method in self.code.methods.get(name, ()):
                if any(self.code.class_of[method] in self.methods.family(cls) for cls in classes):
                    yield method

    @cached_property
    def entrances_below(self) -> dict[Place, tuple[Function, ...]]:
        """For each place, the methods that calling a part of what is there may enter (`nn.Sequential(...)` calls each)."""

        def own(place: Place) -> Iterable[Function]:
            return self.entrances_of(place) if isinstance(place, ast.Call) and place not in self.library_calls else ()

        return gathered(self.flow.made_of, lambda place: self.flow.made_of.get(place, ()), own)

    def receiver(self, call: ast.Call) -> list[ast.expr]:
        return [call.func.value] if isinstance(call.func, ast.Attribute) and not self.code.calls.get(call) else []

    def is_tame(self, call: ast.Call) -> bool:
        """Whether a library that is well known has made what the call gives."""
        dotted = self.code.calls.get(call, "")
        return bool(dotted) and library.lets_go(dotted)

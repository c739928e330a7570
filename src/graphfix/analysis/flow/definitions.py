"""Reaching definitions: which bindings of a name a read may see (Aho et al., Compilers, 2nd ed., section 9.2.4).

One pass over the structured code. The body of a loop is passed once more with what its iterations leave, so that it reaches the next; a
loop in a loop begins its second turn with what it has left in the first, so that the passes add up and do not multiply.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphfix.analysis.flow.places import Place

# a definition, and the loops of which an earlier iteration may have made it
Definition = tuple[Place, frozenset[ast.AST]]
Definitions = dict[str, frozenset[Definition]]


@dataclass
class Reaching:
    """The definitions that reach the point which a pass over a function has come to.

    `leaving`: what holds where a loop is left or goes on early, one entry for each loop around. `loops`: the loops around.
    `made_in`: the loops around each definition. `raising`: all that held anywhere in the `try` bodies around. `left`: what the iterations
    of each loop have left to the next.
    """

    now: Definitions = field(default_factory=dict)
    dead: bool = False
    loops: tuple[ast.AST, ...] = ()
    broken: list[list[Definitions]] = field(default_factory=list)
    continued: list[list[Definitions]] = field(default_factory=list)
    made_in: dict[Place, tuple[ast.AST, ...]] = field(default_factory=dict)
    raising: list[list[Definitions]] = field(default_factory=list)
    left: dict[ast.AST, list[Definitions]] = field(default_factory=dict)

    def define(self, name: str, place: Place) -> None:
        self.now = {**self.now, name: frozenset(((place, frozenset()),))}
        self.made_in[place] = self.loops
        for held in self.raising:
            held.append(self.now)

    def forget(self, name: str) -> None:
        self.now = {known: places for known, places in self.now.items() if known != name}

    def of(self, name: str) -> list[tuple[Place, bool]]:
        """The definitions of `name` that may be read here, in the order of the code, each with whether it may be that of another iteration."""
        found = []
        for place, earlier in self.now.get(name, ()):
            around = self.made_in.get(place, ())
            found.append((place, not earlier.isdisjoint(self.loops) or around[: len(self.loops)] != self.loops))
        return sorted(found, key=_position) if len(found) > 1 else found

    def leave(self, ways: list[list[Definitions]]) -> None:
        if ways and not self.dead:
            ways[-1].append(self.now)
        self.dead = True


def _position(definition: tuple[Place, bool]) -> tuple[int, int, bool]:
    """Where a definition stands: what is found must not hang on the order of a set."""
    place, crosses = definition
    return getattr(place, "lineno", 0), getattr(place, "col_offset", 0), crosses


def joined(ways: Iterable[Definitions]) -> Definitions:
    """What may hold where several ways meet."""
    found: dict[str, frozenset[Definition]] = {}
    for way in ways:
        for name, places in way.items():
            found[name] = found.get(name, frozenset()) | places
    return found


def carried(way: Definitions, made_in: dict[Place, tuple[ast.AST, ...]], loop: ast.AST) -> Definitions:
    """What an iteration of `loop` leaves to the next."""
    return {
        name: frozenset((place, earlier | {loop} if loop in made_in.get(place, ()) else earlier) for place, earlier in places)
        for name, places in way.items()
    }

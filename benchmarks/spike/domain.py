"""What summaries speak of: atoms, values, and the state at one point of a code object.

A value is a set of atoms; what has no graph is the empty one. Atoms are read in the frame of one code object:

("P", variable)         what a parameter was given
("G", variable)         what a variable of other code held at entry
("F", atom, name)       what a field of that held at entry; `[]`: an item
("O", site, n, loop)    an object that was made at a place; n: which of those that a call there has made
("R", site, n, loop)    a recording, likewise: told apart by call
("M", atom)             parameters of what is surely a module, or a leaf that is trained
("m", atom, name)       parameters of something that was called and may be a module
("X", name)             code that is not in sight gave it
("L", why)              something in sight gave it, in a way that is not followed
("D",)                  it was read by `.data`

`loop`: the outermost loop in an earlier iteration of which it was made; None: in this iteration of all loops.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Atom = tuple[Any, ...]
Value = frozenset[Atom]
EMPTY: Value = frozenset()
OLD_DATA: Atom = ("D",)
CARRIERS = frozenset("RPGFXLM")  # what may bring a graph
EXTERNAL = frozenset("PGFX")
DEPTH = 3  # fields of fields of fields are one
ON, OFF, EITHER = 1, 2, 3


SETS = ("open", "freed", "stale", "dirty", "left", "kept", "pending", "stepped")


def depth(atom: Atom) -> int:
    count = 0
    while atom[0] == "F":
        atom = atom[1]
        count += 1
    return count


def field_of(atom: Atom, name: str) -> Atom:
    """The field of what came from outside."""
    if atom[0] in "XL":
        return atom
    return atom if depth(atom) >= DEPTH else ("F", atom, name)


def below(atom: Atom) -> Iterable[Atom]:
    """An atom, and what it is a field of."""
    yield atom
    while atom[0] == "F":
        atom = atom[1]
        yield atom


@dataclass(slots=True)
class State:
    """What holds at one point. `open`: recordings through which no backward pass has gone on some path; `freed`: one has, on some path.

    `stale`: an optimizer has stepped what they saved; `dirty`: what they saved was written in place; `left`: parameters of recordings
    that calls have left for nobody; `kept`: recordings that grow, or pile up, from iteration to iteration; `pending`: the parameters of each
    module that a backward pass came to, and that no step has changed since; `stepped`: those of them that a step has passed over.
    """

    env: dict[Any, Value] = field(default_factory=dict)
    heap: dict[Atom, dict[str, Value]] = field(default_factory=dict)
    open: set[Atom] = field(default_factory=set)
    freed: set[Atom] = field(default_factory=set)
    stale: set[Atom] = field(default_factory=set)
    dirty: set[Atom] = field(default_factory=set)
    left: set[Atom] = field(default_factory=set)
    kept: set[Atom] = field(default_factory=set)
    pending: set[frozenset[Atom]] = field(default_factory=set)
    stepped: set[frozenset[Atom]] = field(default_factory=set)
    mode: int = ON
    modes: dict[int, int] = field(default_factory=dict)

    def copy(self) -> State:
        heap = {atom: dict(fields) for atom, fields in self.heap.items()}
        sets = (set(getattr(self, name)) for name in SETS)
        return State(dict(self.env), heap, *sets, self.mode, dict(self.modes))

    def join(self, other: State) -> bool:
        """Take in what may hold, too; returns whether that changes anything."""
        changed = False
        for variable, value in other.env.items():
            known = self.env.get(variable)
            joined = value if known is None else known | value
            if joined != known:
                self.env[variable] = joined
                changed = True
        for atom in [*self.heap, *(each for each in other.heap if each not in self.heap)]:
            mine, others = self.heap.get(atom, {}), other.heap.get(atom, {})
            for name in [*mine, *(each for each in others if each not in mine)]:
                joined = before(mine, atom, name) | before(others, atom, name)
                if joined != mine.get(name):
                    self.heap.setdefault(atom, {})[name] = joined
                    changed = True
        for name in SETS:
            one, two = getattr(self, name), getattr(other, name)
            if not two <= one:
                one |= two
                changed = True
        if other.mode | self.mode != self.mode:
            self.mode |= other.mode
            changed = True
        for key, mode in other.modes.items():
            if self.modes.get(key, 0) | mode != self.modes.get(key, 0):
                self.modes[key] = self.modes.get(key, 0) | mode
                changed = True
        return changed


def before(fields: dict[str, Value], atom: Atom, name: str) -> Value:
    """What a field held where it was not written on this way."""
    known = fields.get(name)
    if known is not None:
        return known
    return frozenset((field_of(atom, name),)) if atom[0] in "PGFXL" and not name.startswith("[") else EMPTY


@dataclass(eq=False)
class Summary:
    """What a code object does, in terms of what it is given. `R` and `O` atoms have their number as site."""

    result: Value = EMPTY
    made_of: dict[Atom, Value] = field(default_factory=dict)
    traits: dict[Atom, Any] = field(default_factory=dict)
    heap: dict[Atom, dict[str, Value]] = field(default_factory=dict)
    env: dict[Any, Value] = field(default_factory=dict)
    walked: set[Atom] = field(default_factory=set)
    twice: set[Atom] = field(default_factory=set)
    late: set[Atom] = field(default_factory=set)  # walked after a step
    stepped: set[Atom] = field(default_factory=set)
    written: set[Atom] = field(default_factory=set)
    open: set[Atom] = field(default_factory=set)
    freed: set[Atom] = field(default_factory=set)
    stale: set[Atom] = field(default_factory=set)
    dirty: set[Atom] = field(default_factory=set)
    left: set[Atom] = field(default_factory=set)
    kept: set[Atom] = field(default_factory=set)
    pending: set[frozenset[Atom]] = field(default_factory=set)
    passed_over: set[frozenset[Atom]] = field(default_factory=set)
    issues: dict[tuple[str, str], None] = field(default_factory=dict)
    marks: set[str] = field(default_factory=set)
    mode: int | None = None

"""The summary of a code object, out of its frame: recordings that the same places hold become one."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from benchmarks.spike.domain import EMPTY, Atom, State, Summary, Value
from benchmarks.spike.library import PLAIN
from graphfix.ir.variables import Home

if TYPE_CHECKING:
    from benchmarks.spike.frames import Frame

MOST = 12


def summary_of(frame: Frame) -> Summary:
    """What a caller has to know. Places are numbered; what nobody outside can reach is dropped, but for what it has done."""
    state = frame.exits or State(mode=frame.mode)
    result = frame.result
    yielded = state.env.get(("yielded",), EMPTY)
    made = Summary(walked=frame.walked, twice=frame.twice, late=frame.late, stepped=frame.stepped, written=frame.written)
    made.mode = state.mode if state.mode != frame.mode else None
    outer = {
        variable: value
        for variable, value in state.env.items()
        if getattr(variable, "owner", frame.code.node) is not frame.code.node
        and getattr(variable, "home", None) is not Home.CLASS
    }
    places: dict[Any, Value] = {"result": result, "yielded": yielded, **outer}
    for atom, fields in state.heap.items():
        if atom[0] in "PGF":
            places.update({(atom, name): value for name, value in fields.items()})
    objects = reached(places, state)
    numbers = numbered(objects)
    for atom in objects:
        places.update({(atom, name): value for name, value in state.heap.get(atom, {}).items()})
    groups = grouped(frame, state, places)

    def exported(atom: Atom) -> Iterable[Atom]:
        what = atom[0]
        if what == "R":
            return (("R", groups[atom]),) if atom in groups else ()
        if what == "O":
            return (("O", numbers[atom]),) if atom in numbers else ()
        if what == "F":
            return tuple(("F", each, atom[2]) for each in exported(atom[1]))
        if what == "M":
            return tuple(("M", each) for each in exported(atom[1])) or (("M", ("X", "leaf")),)
        if what == "m":
            return tuple(("m", each, atom[2]) for each in exported(atom[1])) or (("m", ("X", "leaf"), atom[2]),)
        return (atom,)

    def renamed(value: Iterable[Atom]) -> Value:
        return frozenset(each for atom in value for each in exported(atom))

    made.result = renamed(result)
    if frame.code.is_generator or yielded:
        number = len(set(numbers.values()))
        made.result |= frozenset((("O", number),))
        made.heap[("O", number)] = {"[]": renamed(yielded)}
    made.env = {variable: renamed(value) for variable, value in outer.items()}
    for atom, fields in state.heap.items():
        for target in exported(atom) if atom[0] in "PGFO" else ():
            kept = made.heap.setdefault(target, {})
            for name, value in fields.items():
                kept[name] = kept.get(name, EMPTY) | renamed(value)
    for atom, group in groups.items():
        new = ("R", group)
        parts = renamed(frame.made_of.get(atom, ())) - {new}
        made.made_of[new] = made.made_of.get(new, EMPTY) | parts
        known = made.traits.get(new, PLAIN)
        made.traits[new] = known.join(frame.traits[atom])
        for ours, theirs in (
            (made.open, state.open),
            (made.freed, state.freed),
            (made.stale, state.stale),
            (made.dirty, state.dirty),
            (made.kept, state.kept),
        ):
            if atom in theirs:
                ours.add(new)
    made.stepped = set(renamed(frame.stepped))
    made.pending = {renamed(each) for each in state.pending}
    made.passed_over = {renamed(each) for each in state.stepped}
    made.left = set(renamed(state.left | left_by(frame, state, set(groups))))
    made.issues, made.marks = frame.issues, frame.marks
    return made


def left_by(frame: Frame, state: State, known: set[Atom]) -> set[Atom]:
    """The parameters of the modules that were called for nobody: no backward pass, and no place that lasts."""
    found: set[Atom] = set()
    # a call of a module that gives something else that is walked is no evaluation
    walked = {atom[1] for atom in state.freed - state.open if atom[0] == "R" and atom[1] in frame.module_sites}
    for atom in state.open - known:
        if frame.traits[atom].again:
            frame.issue("create_graph")
        if atom in state.kept:
            found |= {part for part in frame.history((atom,)) if part[0] in "MmL"}
        if atom in state.freed and not frame.analysis.evaluates:
            continue  # a branch of a training
        if atom[1] not in walked or atom in state.freed:
            same = [a for a in frame.history((atom,)) if a[0] == "R" and a[1] == atom[1]]
            if isinstance(frame.code.node, ast.Module) and atom[1] in frame.direct_sites and not frame.loops_of.get(atom[1]):
                frame.issue("optional: a forward pass that runs once")
                continue
            found |= {part for each in same for part in frame.made_of.get(each, ()) if part[0] in "MmLPGF"}
    return found


def reached(places: dict[Any, Value], state: State) -> dict[Atom, None]:
    """The objects that were made here and that a place leads to."""
    found: dict[Atom, None] = {}
    pending = [atom for value in places.values() for atom in value]
    while pending:
        atom = pending.pop()
        while atom[0] in "FMm":
            atom = atom[1]
        if atom[0] == "O" and atom not in found:
            found[atom] = None
            pending.extend(each for value in state.heap.get(atom, {}).values() for each in value)
    return found


def numbered(objects: Iterable[Atom]) -> dict[Atom, int]:
    return {atom: min(number, MOST) for number, atom in enumerate(objects)}


def grouped(frame: Frame, state: State, places: dict[Any, Value]) -> dict[Atom, int]:
    """Recordings by the places whose graphs they are part of, and by what has happened to them."""
    signature: dict[Atom, list[Any]] = {}
    for number, value in enumerate(places.values()):
        for atom in frame.history(a for a in value if a[0] == "R"):
            if atom[0] == "R":
                signature.setdefault(atom, []).append(number)
    numbers: dict[Any, int] = {}
    found: dict[Atom, int] = {}
    for atom, of in signature.items():
        status = (atom in state.open, atom in state.freed, atom in state.stale, atom in state.dirty, atom in state.kept)
        traits = frame.traits[atom]
        key = (tuple(of), status, traits.called, traits.unknown, traits.again)
        if len(numbers) > MOST and key not in numbers:
            key = status  # type: ignore[assignment]
        found[atom] = numbers.setdefault(key, len(numbers))
    return found

"""What is still there when an iteration, or a run, is over."""

from __future__ import annotations

import ast

from graphfix.analysis.runs import Run
from graphfix.interpreter.frames import Env
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Class, Instance, Mapping, Project, Sequence, TorchModule, Unknown, Value


def out_of_sight(run: Run) -> set[int]:
    """What code that is not in sight may read: the object whose method was run, and what it holds (by identity)."""
    receiver = run.recording.receiver
    pending: list[Value] = [receiver] if receiver is not None else []
    found: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in found:
            continue
        found.add(id(value))
        if isinstance(value, (Instance, TorchModule)):
            pending.extend(value.attributes.values())
        elif isinstance(value, Sequence):
            pending.extend(value.items)
        elif isinstance(value, Mapping):
            pending.extend(value.items.values())
    return found


def outlives(store: Store) -> bool:
    """Whether what is put away is still there when the iteration is over: in a container from before it."""
    if not store.context or not isinstance(store.holder, (Sequence, Mapping)):
        return False
    entry = store.context[-1][0]
    return all(active is not entry for active, _ in store.holder.context or ())


def is_kept(store: Store, kept: set[int]) -> bool:
    """Whether what is stored outlives a run of which the callers are not in sight."""
    holder, place = store.holder, store.place[0]
    if any(isinstance(value, (Unknown, Class, Project)) for value in (holder, place)):
        return True
    return id(holder) in kept or id(place) in kept or (isinstance(place, Env) and place.parent is None)


def attribute_of(store: Store) -> str:
    """The attribute of an object into which it is put, which may keep it for itself, as a network's state is kept; empty for any other place."""
    return store.target.attr if isinstance(store.target, ast.Attribute) and isinstance(store.place[0], Instance) else ""

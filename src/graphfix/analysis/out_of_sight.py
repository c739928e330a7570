"""Which objects code out of sight had hold of, and when: it may have put something else into their attributes.

Who calls `reset(net)` in each iteration does so because that puts the state of `net` back, or else the program would have raised in its second one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from graphfix.interpreter.networks import wholes
from graphfix.interpreter.recording import Recording
from graphfix.interpreter.values import (
    BoundMethod,
    Instance,
    Mapping,
    Partial,
    Sequence,
    TorchModule,
    Unknown,
    Value,
)

MOST_OBJECTS = 400  # below one value


class OutOfSight:
    """When which objects were within reach of code that is not in sight."""

    def __init__(self, recording: Recording) -> None:
        self._moments: dict[int, list[int]] = {}
        holding: dict[object, dict[int, None]] = {}
        for handed in recording.handed:
            keepers = [key for each in (*handed.values, handed.made) if isinstance(each, Unknown) for key in wholes(each.key)]
            reached = {id(each): None for value in handed.values for each in objects_in(value)}
            for key in keepers:
                reached.update(holding.get(key, {}))
            for key in keepers if reached else ():
                holding.setdefault(key, {}).update(reached)
            for each in reached:
                self._moments.setdefault(each, []).append(handed.order)

    def had(self, thing: object, after: int, before: int) -> bool:
        """Whether such code ran with hold of `thing` between two moments of the run."""
        moments = self._moments.get(id(thing), [])
        at = bisect_right(moments, after)
        return at < len(moments) and moments[at] < before


def objects_in(value: Value) -> Iterator[Value]:
    """The objects and modules within reach of a value, and what they keep their state in."""
    seen: set[int] = set()
    pending: list[tuple[Value, bool]] = [(value, False)]
    while pending and len(seen) < MOST_OBJECTS:
        each, is_kept = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        is_object = isinstance(each, (Instance, TorchModule))
        if is_object or is_kept and isinstance(each, (Sequence, Mapping)):
            yield each
        pending.extend((part, is_kept or is_object) for part in parts_of(each))


def parts_of(value: Value) -> Iterator[Value]:
    """What can be reached from a value by attributes and items, and the object of a method; not what the parameters are those of."""
    if isinstance(value, Instance):
        yield from value.attributes.values()
    elif isinstance(value, TorchModule):
        yield from (*(value.children or ()), *value.names.values(), *value.attributes.values())
    elif isinstance(value, (Sequence, Mapping)):
        yield from value.members()
    elif isinstance(value, BoundMethod):
        yield value.receiver
    elif isinstance(value, Partial):
        yield from (value.function, *value.arguments, *value.keywords.values())

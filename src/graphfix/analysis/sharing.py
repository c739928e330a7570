"""Which tensors share memory: what a write through one of them reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphfix.interpreter.values import Tensor, Unknown, Value


def chain(value: Value) -> Iterator[Value]:
    """`value`, what it was read from, what that was read from, ..."""
    current: Value | None = value
    while current is not None:
        yield current
        current = current.base if isinstance(current, Tensor) else None


def memory_of(values: Iterable[Value], depth: int = 3) -> set[int]:
    """All that the `values`, or what they hold, were read from without a copy, and these themselves: the `id` of each."""
    found: set[int] = set()
    looked: set[tuple[int, int]] = set()
    pending = [(value, depth) for value in values]
    while pending:
        value, left = pending.pop()
        for step in chain(value):
            if id(step) in found:
                break  # so is what that was read from
            found.add(id(step))
        if left and (id(value), left) not in looked:
            looked.add((id(value), left))
            held = value.items.values() if isinstance(value, Unknown) else value.members(attributes=True)
            pending += [(item, left - 1) for item in held]
    return found


def origin(value: Value) -> Value:
    """The tensor at the end of the chain: its memory is that of all of them."""
    *_, last = chain(value)
    return last

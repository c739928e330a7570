"""Which tensors share memory: what a write through one of them reaches."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.interpreter.values import Tensor, Unknown, Value


def chain(value: Value) -> Iterator[Value]:
    """`value`, what it was read from, what that was read from, ..."""
    current: Value | None = value
    while current is not None:
        yield current
        current = current.base if isinstance(current, Tensor) else None


def shares(value: Value, made: Value, depth: int = 3) -> bool:
    """Whether `value`, or something that it holds, was read from `made` without a copy."""
    if any(step is made for step in chain(value)):
        return True
    held = list(value.items.values()) if isinstance(value, Unknown) else list(value.members(attributes=True))
    return depth > 0 and any(shares(item, made, depth - 1) for item in held)


def origin(value: Value) -> Value:
    """The tensor at the end of the chain: its memory is that of all of them."""
    *_, last = chain(value)
    return last

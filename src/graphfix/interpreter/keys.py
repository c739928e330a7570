"""What identifies a value within a run, and what is known of its truth."""

from __future__ import annotations

from graphfix.interpreter.interning import interned
from graphfix.interpreter.values import (
    External,
    Known,
    Mapping,
    Opaque,
    Plain,
    Sequence,
    Tensor,
    Value,
    is_hashable,
)


def key_of(value: Value) -> object:
    """Equal keys mean equal values within a run."""
    if isinstance(value, Known):
        return value.value if is_hashable(value.value) else repr(value.value)
    if isinstance(value, (Plain, Opaque)):
        return value.key
    if isinstance(value, External):
        return value.name
    if isinstance(value, Sequence):
        return interned(("sequence", id(value), len(value.items)))
    return id(value)


def cut_of(*values: Value) -> object:
    """The repair, if any, that turned one of these numbers from a tensor into a number."""
    for value in values:
        if isinstance(value, Plain) and value.cut is not None:
            return value.cut
    return None


def counter(key: object, index: int) -> Plain:
    return Plain(("counter", key, index), first=index == 0)


def known_truth(value: Value) -> bool | None:
    """The truth of a value where the program alone tells it."""
    if isinstance(value, Known):
        return bool(value.value)
    if isinstance(value, Plain):
        return None if value.first is None else not value.first
    if isinstance(value, (Sequence, Mapping)):
        return None if value.open else bool(value.items or getattr(value, "rest", None))
    if isinstance(value, (Tensor, Opaque)):
        return None
    if isinstance(value, External):
        return None if value.name.count(".") > 1 else True
    return True

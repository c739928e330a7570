"""Whether two values of a run are one object, as `is`, `id()` and `data_ptr()` ask."""

from __future__ import annotations

from graphfix.interpreter.interning import Key, kind_of
from graphfix.interpreter.values import Address, Tensor, Value


def is_one_object(left: Value, right: Value) -> bool | None:
    """Yes for one value, no for two that were made anew or that data gives in two iterations of a loop; None where the run cannot tell."""
    if left is right:
        return True
    if isinstance(left, Tensor) and isinstance(right, Tensor) and left.base is right.base is None:
        return None if left.storage.root is right.storage.root else False
    return False if of_two_iterations(left.identity, right.identity) else None


def is_one_address(left: Value, right: Value) -> bool | None:
    """The same of the objects whose addresses two numbers are; None for other numbers."""
    return is_one_object(left.of, right.of) if isinstance(left, Address) and isinstance(right, Address) else None


def of_two_iterations(first: object, second: object) -> bool:
    """Whether two keys name the same part of the items that data gives in two iterations, or the same tensor method of those.

    Data that gives one object again and again is a list with one object twice, or a generator that fills one buffer.
    """
    while isinstance(first, Key) and isinstance(second, Key) and len(first.parts) == len(second.parts) > 1:
        if kind_of(first) != kind_of(second) or kind_of(first) not in ("item", "method"):
            return False
        if first.parts[1] == second.parts[1]:
            return is_counted(first) and is_counted(second) and first.parts[2] != second.parts[2]
        if not is_counted(first) and first.parts[2:] != second.parts[2:]:
            return False
        first, second = first.parts[1], second.parts[1]
    return False


def is_counted(key: Key) -> bool:
    """Whether a key names what a loop gives in an iteration, by its number."""
    return kind_of(key) == "item" and len(key.parts) == 4 and isinstance(key.parts[2], int)

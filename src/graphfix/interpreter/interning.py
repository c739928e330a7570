"""Symbolic keys: what an unknown value was computed from, so that the same question gets the same answer.

Keys are hash-consed (Filliatre and Conchon, "Type-safe modular hash-consing", ML Workshop 2006): equal keys are one object,
so hash and equality take constant time however often a key holds another one.
"""

from __future__ import annotations

# How many computations a key may be nested. Beyond, what a value was computed from is not known any more.
MAX_DEPTH = 100


class Key:
    """The interned form of a tuple: what was done, and with what. Made by `interned` alone, so identity is equality."""

    __slots__ = ("parts", "depth")

    def __init__(self, parts: tuple[object, ...], depth: int) -> None:
        self.parts = parts
        self.depth = depth

    def __repr__(self) -> str:
        # one level: a key may hold another one many times over
        return f"Key({', '.join('...' if isinstance(part, Key) else repr(part) for part in self.parts)})"


# those of one analysis: a key may hold a loop, with all that its frame holds, so that none of them would end by itself
_keys: dict[tuple[object, ...], Key] = {}


def forget_keys() -> None:
    """End an analysis: no key that is made from now on equals one that was made before."""
    _keys.clear()


def interned(key: object) -> object:
    """The one object for all keys equal to `key`; what is no tuple stands for itself."""
    if type(key) is not tuple:
        return key
    parts = tuple([interned(part) if type(part) is tuple else part for part in key])
    known = _keys.get(parts)
    if known is not None:
        return known
    depth = 1 + max((part.depth for part in parts if type(part) is Key), default=0)
    if depth > MAX_DEPTH:
        # equal to nothing else
        return Key(("unknown", object()), 1)
    made = _keys[parts] = Key(parts, depth)
    return made


def kind_of(key: object) -> object:
    """What a key says was done, such as "distribution" or "numpy.mean"; None where it does not say."""
    return key.parts[0] if isinstance(key, Key) and key.parts else None


def taken_from(key: object, depth: int) -> set[object]:
    """The key, and those of what it was taken from, at most `depth` computations away; an attribute is no more than a part of its object."""
    found = {key}
    level = {key} if isinstance(key, Key) else set()
    for _ in range(depth):
        level = {part for each in level if kind_of(each) != "attribute" for part in each.parts if isinstance(part, Key)} - found
        found |= level
    return found


def mentions(key: object, kind: str, depth: int) -> bool:
    """Whether a value was computed from one of this kind, at most `depth` computations away."""
    seen: set[Key] = set()
    level = {key} if isinstance(key, Key) else set()
    for _ in range(depth + 1):
        if any(kind_of(each) == kind for each in level):
            return True
        seen |= level
        level = {part for each in level for part in each.parts if isinstance(part, Key)} - seen
    return False

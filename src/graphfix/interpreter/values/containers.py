"""Lists, tuples, sets, generators and dicts."""

from __future__ import annotations

from collections.abc import Iterable

from graphfix.interpreter.interning import Key, interned, kind_of
from graphfix.interpreter.values.data import Constant
from graphfix.interpreter.values.value import Value, is_hashable

# a sequence is followed up to this number of items
MAX_ITEMS = 40


class Sequence(Value):
    """A list, tuple, set, deque or generator with the items that the simulation put into it.

    `open`: it holds more items than the simulated ones, so that an unknown index may be any of them. `in_turn`: whether the
    counter of a loop read its items before it put any there; None where it did neither. `goes_on`: a loop of which the first
    iterations are simulated has put the items there, so that more like them follow. `decided_by`: the question whose answer had a function
    return it. `read_by`: the loop that read an item by an index of its own last, and how many there were then.
    """

    __slots__ = ("kind", "items", "open", "sites", "context", "grad_mode", "in_turn", "goes_on", "decided_by", "read_by")

    def __init__(self, kind: str, items: list[Value], open_: bool = False) -> None:
        self.kind = kind
        self.items = items
        self.open = open_
        self.goes_on = open_
        self.in_turn: bool | None = None
        self.sites: list[object] = []
        self.context: object = None
        self.grad_mode: bool | None = None
        self.decided_by: object = None
        self.read_by: tuple[object, int] | None = None

    @property
    def identity(self) -> object:
        return interned(("sequence", self.serial, len(self.items)))

    @property
    def truth(self) -> bool | None:
        return None if self.open else bool(self.items)

    def turn(self, first: bool | None) -> int | None:
        """The index of the item whose turn it is in the first, or in another, iteration of a loop; None where that is not known."""
        if first is None or not self.items:
            return None
        return 0 if first or len(self.items) == 1 else 1

    def is_as_long(self, loop: object) -> bool:
        """Whether it holds as many items as when `loop` first read one of them."""
        if self.read_by is None or self.read_by[0] != loop:
            self.read_by = loop, len(self.items)
        return self.read_by[1] == len(self.items)

    def members(self, attributes: bool = False) -> Iterable[Value]:
        return self.items

    def parts(self) -> Iterable[Value]:
        return self.items

    def copied(self) -> Sequence:
        made = Sequence(self.kind, list(self.items), self.open)
        made.goes_on = self.goes_on
        return made

    def is_a(self, name: str) -> bool | None:
        return name in (self.kind, "Sequence", "Iterable", "Collection", "Sized")

    def _told(self) -> str:
        return f" {self.kind} of {len(self.items)}{' or more' if self.open else ''}"


class Mapping(Value):
    """A dict: constant keys are kept apart, `rest` is what was stored under unknown ones.

    `kind`: the name of its class. `meant`: constant keys that were read, with the unknown ones that are taken to be the same.
    """

    __slots__ = ("kind", "items", "rest", "default", "open", "context", "meant")

    def __init__(self, items: dict[object, Value], default: Value | None = None, open_: bool = False, kind: str = "dict") -> None:
        self.kind = kind
        self.items = items
        self.rest: list[Value] = []
        self.default = default
        self.open = open_
        self.context: object = None
        self.meant: dict[object, object] = {}

    @property
    def truth(self) -> bool | None:
        return None if self.open else bool(self.items or self.rest)

    def members(self, attributes: bool = False) -> Iterable[Value]:
        return (*self.items.values(), *self.rest)

    def parts(self) -> Iterable[Value]:
        return self.members()

    def copied(self) -> Mapping:
        made = Mapping(dict(self.items), self.default, self.open, self.kind)
        made.meant = dict(self.meant)
        return made

    def is_a(self, name: str) -> bool | None:
        return name in ("dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Iterable")

    def _told(self) -> str:
        return f" of {len(self.items)}{' or more' if self.open else ''}"


def slot_of(index: Value) -> object:
    """Where a dict keeps what is put under `index`: equal keys have one slot, and what is not known as a constant a tuple."""
    value = getattr(index, "value", None)
    if isinstance(index, Constant) and is_hashable(value) and not isinstance(value, tuple):
        return value
    return "unknown", interned(same_number(index))


def same_number(index: Value) -> object:
    """What tells a key from others: of a tuple what tells each item, of a counter what it counts up to, however often the loop is entered."""
    if isinstance(index, Sequence) and index.kind == "tuple" and not index.open:
        return ("tuple", *(same_number(item) for item in index.items))
    key = index.identity
    if isinstance(key, Key) and kind_of(key) == "counter" and isinstance(key.parts[1], Key) and len(key.parts[1].parts) == 4:
        site, _, bound, _ = key.parts[1].parts
        return ("counter", site, bound, key.parts[2])
    return key

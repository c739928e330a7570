"""Numbers, tensors, and what may be either."""

from __future__ import annotations

import ast
from typing import Any

from graphfix.autograd.graph import Leaf, Node, Storage
from graphfix.autograd.severed import Severed
from graphfix.interpreter.interning import interned
from graphfix.interpreter.values.value import Value, is_hashable

# a constant that the program computes is followed up to this length
MAX_TEXT = 1_000


class Constant(Value):
    """A Python constant: number, string, None, slice."""

    __slots__ = ("value",)
    is_plain = True

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def identity(self) -> object:
        return self.value if is_hashable(self.value) else repr(self.value)

    @property
    def truth(self) -> bool | None:
        return bool(self.value)

    @property
    def is_off(self) -> bool:
        return not self.value

    @property
    def is_none(self) -> bool:
        return self.value is None

    def is_a(self, name: str) -> bool | None:
        return type(self.value).__name__ == name or (name == "Number" and isinstance(self.value, (int, float)))

    def _told(self) -> str:
        return f" {self.value!r:.60}"


class Counted(Constant):
    """A number that a loop counts: what it is in the iterations that are simulated; it goes on from there.

    `up`: by steps that are positive, so that it is not zero again unless it is set anew.
    """

    __slots__ = ("up",)

    def __init__(self, value: Any, up: bool = False) -> None:
        super().__init__(value)
        self.up = up

    @property
    def identity(self) -> object:
        return ("counter", self.value)


class NonTensor(Value):
    """Data that is surely no tensor (a size, a count, an array), of unknown content.

    `key` names what it was computed from, so that the same question gets the same answer; `first` is set for a
    loop counter in the first (True) or a later (False) iteration; `cut` for a number that a repair under trial made of
    a tensor; `source` is the tensor that an array was read from.
    """

    __slots__ = ("key", "first", "cut", "source")
    is_plain = True

    def __init__(self, key: object, first: bool | None = None, cut: object = None, source: Value | None = None) -> None:
        self.key = interned(key)
        self.source = source
        self.first = first
        self.cut = cut

    @property
    def identity(self) -> object:
        return self.key

    @property
    def truth(self) -> bool | None:
        return None if self.first is None else not self.first

    def is_a(self, name: str) -> bool | None:
        return False if name in ("Tensor", "list", "tuple", "dict", "Variable") and self.cut is not None else None

    def _told(self) -> str:
        return f" {self.key!r:.60}"


class Address(NonTensor):
    """The number that tells where an object lies, as `id(x)` and `x.data_ptr()` give it."""

    __slots__ = ("of",)

    def __init__(self, key: object, of: Value) -> None:
        super().__init__(key)
        self.of = of


class Unknown(Value):
    """Something unknown: it may be a tensor, and `node` is then its graph.

    `is_object`: it is no tensor, but an object that holds what it was made of, such as a distribution.
    `outside`: it belongs to a library that knows no tensors (a parser, an environment), so nothing read from it has a graph.
    `made_of`: what torch has computed it from alone, and where: a graph that it turns out to have is that of this value.
    `latent`: the node that it has if it turns out to have a graph, though nothing that made it is known to have one.
    """

    __slots__ = ("key", "node", "attributes", "items", "outside", "made_of", "latent", "is_object")

    def __init__(self, key: object, node: Node | None = None, outside: bool = False, is_object: bool = False) -> None:
        self.key = interned(key)
        self.is_object = is_object
        self.outside = outside
        self.node = node
        self.attributes: dict[str, Value] = {}
        self.items: dict[object, Value] = {}
        self.made_of: tuple[Unknown, ast.AST] | None = None
        self.latent: Node | None = None

    @property
    def may_be_tensor(self) -> bool:  # type: ignore[override]
        return not self.is_object

    @property
    def identity(self) -> object:
        return self.key

    def computed_from(self, value: Value, site: ast.AST) -> Unknown:
        """This value, known to be computed by torch from `value` alone."""
        if self.node is None and isinstance(value, Unknown) and value.node is None:
            self.made_of = (value, site)
        return self

    @property
    def truth(self) -> bool | None:
        return None

    @property
    def namespace(self) -> dict[str, Value]:
        return self.attributes

    def _told(self) -> str:
        return f" {self.key!r:.60}" + (" with a graph" if self.node is not None else "")


class Tensor(Value):
    """A tensor: `node` is its grad_fn, `leaf` is set where it is a leaf that may require grad.

    `single`: known to have one element; `shape`: see `shapes`. `base`: the tensor whose memory it shares, or from which it
    was read without its graph; `is_data`: as its `.data`, so that no graph tells of writes to it. `storage`: its memory,
    which views of it share. `latent`: as that of `Unknown`. `severed`: where it has lost its graph.
    `unreduced`: the call that has made a loss for each sample, of which it still has all.
    """

    __slots__ = ("node", "leaf", "single", "base", "is_data", "shape", "storage", "latent", "severed", "unreduced")
    may_be_tensor = True

    def __init__(
        self,
        node: Node | None = None,
        leaf: Leaf | None = None,
        single: bool = False,
        base: Value | None = None,
        is_data: bool = False,
        shape: tuple[int, ...] | None = None,
    ) -> None:
        self.node = node
        self.leaf = leaf
        self.single = single
        self.base = base
        self.is_data = is_data
        self.shape = shape
        self.storage = Storage()
        self.latent: Node | None = None
        self.severed: Severed | None = None
        self.unreduced: ast.AST | None = None

    @property
    def truth(self) -> bool | None:
        return None

    def copied(self) -> Tensor:
        made = Tensor(self.node, self.leaf, self.single, self.base, self.is_data, self.shape)
        made.severed = self.severed
        made.unreduced = self.unreduced
        return made

    def is_a(self, name: str) -> bool | None:
        return name in ("Tensor", "FloatTensor", "Variable")

    def _told(self) -> str:
        kind = " with a graph" if self.node is not None else f" leaf {self.leaf.name}" if self.leaf is not None else ""
        return kind + (f" shape {self.shape}" if self.shape is not None else "")


NONE = Constant(None)


def cut_of(*values: Value) -> object:
    """The repair, if any, that turned one of these numbers from a tensor into a number."""
    for value in values:
        if value.cut is not None:
            return value.cut
    return None


def counter(key: object, index: int) -> NonTensor:
    """A loop's counter, which starts at zero."""
    return NonTensor(("counter", key, index), first=index == 0)

"""Graphs on paper: nodes, the leaves below them, and the memory that tensors share.

A `Node` is one birth: what one expression recorded in one simulated iteration and call. Its parents are
`grad_fn.next_functions`. See "How autograd encodes the history", https://pytorch.org/docs/stable/notes/autograd.html.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphfix.autograd.iteration import CallStack, Context
from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.autograd.backward import BackwardPass
    from graphfix.autograd.severed import Severed


class Leaf:
    """A parameter, or the group of parameters of one layer, that share a version counter.

    `module`: whether it belongs to a module; `is_parameter`: whether it does from the moment on that a module has it as an attribute.
    `origin`: the leaf of which it is a copy, `copied_at`: made there. `frozen_at`: where it was told to need no gradient. `is_flagged`:
    whether it was a tensor without a graph before it was told to require grad. `severed`: where the tensor that became it had lost its graph.
    """

    __slots__ = ("name", "requires_grad", "version", "trained", "site", "module", "is_parameter", "origin", "copied_at", "frozen_at", "is_flagged", "severed")

    def __init__(self, name: str, requires_grad: bool = True, site: ast.AST | None = None, module: bool = False) -> None:
        self.name = name
        self.module = module
        self.is_parameter = False
        self.requires_grad = requires_grad
        self.version = 0
        self.trained = False
        self.site = site
        self.origin: Leaf | None = None
        self.copied_at: ast.AST | None = None
        self.frozen_at: ast.AST | None = None
        self.is_flagged = False
        self.severed: Severed | None = None

    def copied(self) -> Leaf:
        """A new leaf with the same content."""
        copy = Leaf(self.name, self.requires_grad, self.site, self.module)
        copy.is_parameter = self.is_parameter
        copy.origin = self.origin or self
        copy.frozen_at = self.frozen_at
        copy.is_flagged = self.is_flagged
        return copy


def position(site: ast.AST | None) -> tuple[int, int]:
    """Where a place stands in its file: what is sorted by it does not hang on the order of memory."""
    return getattr(site, "lineno", 0), getattr(site, "col_offset", 0)


@dataclass(eq=False)
class Write:
    """An in-place write. `others`: the names, apart from the one that is written to, under which the old content is known.

    `target` is the expression that is written to.
    """

    site: ast.AST
    trace: CallStack
    order: int
    target: ast.AST | None
    others: tuple[str, ...]
    layer: object = None


class Storage:
    """The memory of a tensor and of its views, with its version counter. `near`: a storage that may be the same memory.

    `device`: what names the device that it was moved to, or made on; None where that is not known. `leaf`: a leaf whose memory it is.
    `is_saved`: whether a node has saved it, or what may be the same memory.
    """

    __slots__ = ("version", "writes", "near", "device", "leaf", "is_saved")

    def __init__(self, near: Storage | None = None) -> None:
        self.version = 0
        self.writes: list[Write] = []
        self.near = near
        self.device: object = None
        self.leaf: Leaf | None = None
        self.is_saved = False

    @property
    def root(self) -> Storage:
        """The storage that all those which may be this memory are near to."""
        storage = self
        while storage.near is not None:
            storage = storage.near
        return storage


class Node:
    """One birth on the tape.

    `saves`: its backward needs saved tensors, so that a second walk raises. `certain`: it is known to be part of
    a graph; False for what an unknown call returned. `callee` is the key of that unknown callable. `leaves` are its
    direct leaf inputs, `versions` the version each had when it was saved (None: not saved). `training` is the mode of
    the module that made it, None where it was never set. `saved` are the tensors that its backward needs, each with the
    version that was saved. `perhaps`: the graph of the unknown object that made it, which it may go on. `guessed`: what stands for
    the parameters of a module that is not in sight, with its version, where the gradient of the module's input needs these. `trained`: that module
    is one whose parameters an optimizer has.
    """

    __slots__ = (
        "site", "trace", "context", "parents", "saves", "leaves", "versions", "certain", "callee",
        "freed_by", "walks", "stores", "random", "order", "training", "saved", "perhaps", "guessed", "trained",
    )  # fmt: skip

    def __init__(
        self, site: ast.AST, trace: CallStack, context: Context, parents: tuple[Node, ...], saves: bool,
        leaves: tuple[Leaf, ...] = (), saved: bool = True, certain: bool = True, callee: object = None,
    ) -> None:  # fmt: skip
        self.site = site
        self.trace = trace
        self.context = context
        self.parents = parents
        self.saves = saves
        self.leaves = leaves
        self.versions = tuple(leaf.version if saved else None for leaf in leaves)
        self.certain = certain
        self.callee = callee
        self.freed_by: BackwardPass | None = None
        self.walks: list[BackwardPass] = []
        self.stores: list[object] = []
        self.random = False
        self.order = 0
        self.training: bool | None = None
        self.saved: tuple[tuple[Storage, int], ...] = ()
        self.perhaps: Node | None = None
        self.guessed: tuple[Leaf, int] | None = None
        self.trained = False

    def save(self, storage: Storage) -> None:
        """Take note that the backward of this node needs what a storage holds now."""
        self.saved += ((storage, storage.version),)
        storage.root.is_saved = True

    @property
    def way(self) -> tuple[ast.AST, ...]:
        """By which expression, and which calls that lead to it, it is made: other runs make theirs alike."""
        return (self.site, *(statement for _, statement in self.trace))


def history(roots: list[Node]) -> list[Node]:
    """Every node reachable from `roots`, each once, roots first; the order is that of the program, not of memory."""
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for node in order:
        for parent in node.parents:
            if parent not in seen:
                seen.add(parent)
                order.append(parent)
    return order


def reaches(roots: Iterable[Node], targets: set[Node]) -> bool:
    """Whether one of `targets` is one of `roots` or lies below them."""
    oldest = min((target.order for target in targets), default=math.inf)
    order = list(dict.fromkeys(roots))
    seen = set(order)
    for node in order:
        if node in targets:
            return True
        for parent in node.parents:
            if parent.order >= oldest and parent not in seen:  # a node is younger than all that lies below it
                seen.add(parent)
                order.append(parent)
    return False

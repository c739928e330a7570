"""Autograd on paper: nodes, the leaves below them, and the walks that free them.

A `Node` is one birth: what one expression recorded in one simulated iteration and call. Its parents are
`grad_fn.next_functions`; a walk is `Tensor.backward` or `torch.autograd.grad`. See "How autograd encodes the
history", https://pytorch.org/docs/stable/notes/autograd.html.
"""

from __future__ import annotations

import ast
import enum
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

# The statement that each active call was at, outermost first; what a call is, is the interpreter's business.
CallStack = tuple[tuple[Any, ast.stmt], ...]
# One entry for each enclosing loop, outermost first: (which entry into which loop, iteration).
Context = tuple[tuple["LoopEntry", int], ...]


class LoopEntry:
    """One entry into a loop: two entries into the same loop are two objects."""

    __slots__ = ("loop", "frame")

    def __init__(self, loop: ast.AST | None, frame: object) -> None:
        self.loop = loop
        self.frame = frame


class Leaf:
    """A parameter, or the group of parameters of one layer (`module`), that share a version counter.

    `origin`: the leaf of which it is a copy.
    """

    __slots__ = ("name", "requires_grad", "version", "trained", "site", "module", "origin")

    def __init__(self, name: str, requires_grad: bool = True, site: ast.AST | None = None, module: bool = False) -> None:
        self.name = name
        self.module = module
        self.requires_grad = requires_grad
        self.version = 0
        self.trained = False
        self.site = site
        self.origin: Leaf | None = None

    def copied(self) -> Leaf:
        """A new leaf with the same content."""
        copy = Leaf(self.name, self.requires_grad, self.site, self.module)
        copy.origin = self.origin or self
        return copy


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
    """The memory of a tensor and of its views, with its version counter. `near`: a storage that may be the same memory."""

    __slots__ = ("version", "writes", "near")

    def __init__(self, near: Storage | None = None) -> None:
        self.version = 0
        self.writes: list[Write] = []
        self.near = near


class Node:
    """One birth on the tape.

    `saves`: its backward needs saved tensors, so that a second walk raises. `certain`: it is known to be part of
    a graph; False for what an unknown call returned. `callee` is the key of that unknown callable. `leaves` are its
    direct leaf inputs, `versions` the version each had when it was saved (None: not saved). `training` is the mode of
    the module that made it, None where it was never set. `saved` are the tensors that its backward needs, each with the
    version that was saved.
    """

    __slots__ = (
        "site", "trace", "context", "parents", "saves", "leaves", "versions", "certain", "callee",
        "freed_by", "walks", "stores", "random", "order", "training", "saved",
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


def raises_again(node: Node, sure: Callable[[Node], bool], before: float = math.inf, walkable: set[Node] | None = None) -> bool:
    """Whether any walk through `node` would raise: below it, by a path that is known to be graph, lies a freed saved tensor.

    `before`: only what was freed before this moment of the run counts. `walkable` collects the nodes through which a walk
    would not raise, for further questions of the same moment.
    """
    without = walkable if walkable is not None else set()
    seen = {node} - without
    order = list(seen)
    for step in order:
        if not sure(step):
            continue
        if step.saves and step.freed_by is not None and step.freed_by.order < before:
            return True
        for parent in step.parents:
            if parent not in seen and parent not in without:
                seen.add(parent)
                order.append(parent)
    without |= seen
    return False


@dataclass(eq=False)
class Hit:
    """A walk met a node that an earlier walk had freed. `path` leads from the root to the node, both included."""

    node: Node
    freed_by: BackwardPass
    path: tuple[Node, ...]
    certain: bool


@dataclass(eq=False)
class Stale:
    """A walk met a node that had saved a leaf which has a newer version now."""

    node: Node
    leaf: Leaf
    path: tuple[Node, ...]
    certain: bool


@dataclass(eq=False)
class Overwritten:
    """A walk met a node that had saved a tensor which was written to since, first by `write`."""

    node: Node
    write: Write
    certain: bool


class WalkKind(enum.Enum):
    """What walks: `Tensor.backward`, a function of `torch.autograd`, what walks its argument, a trainer by itself."""

    METHOD = enum.auto()
    FUNCTION = enum.auto()
    GRAD = enum.auto()
    LAUNCHER = enum.auto()
    TRAINER = enum.auto()


@dataclass(eq=False)
class BackwardPass:
    """One simulated `backward()` or `autograd.grad()`.

    `site` is the call, `roots` the nodes walked from, `keyword` the constant value given to retain_graph or None, `thread` the
    thread that it runs in (None: the main one), `created` the nodes of the gradients that `create_graph=True` records.
    """

    site: ast.Call
    trace: CallStack
    context: Context
    roots: tuple[Node, ...]
    retains: bool
    creates: bool
    keyword: object
    kind: WalkKind
    order: int
    receiver: ast.expr | None = None
    targets: tuple[frozenset[Node], frozenset[Leaf]] | None = None
    thread: object = None
    created: list[Node] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    stale: list[Stale] = field(default_factory=list)
    overwritten: list[Overwritten] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


def walk(event: BackwardPass) -> None:
    """Walk the graph from the event's roots: note what is freed or stale already, then free it unless it is retained."""
    wanted = leads_to(event)
    came_from: dict[Node, Node | None] = {root: None for root in event.roots if wanted is None or root in wanted}
    order = list(came_from)
    for node in order:
        freed = node.freed_by
        if freed is not None and node.saves:
            path = path_to(node, came_from)
            event.hits.append(Hit(node, freed, path, all(step.certain for step in path)))
            continue  # torch raises here: what lies below is not reached
        for leaf, version in zip(node.leaves, node.versions):
            if version is not None and leaf.version != version:
                path = path_to(node, came_from)
                event.stale.append(Stale(node, leaf, path, all(step.certain for step in path)))
        for storage, version in node.saved:
            if storage.version != version:
                sure = all(step.certain for step in path_to(node, came_from))
                event.overwritten.append(Overwritten(node, storage.writes[version], sure))
        for parent in node.parents:
            if parent not in came_from and (wanted is None or parent in wanted):
                came_from[parent] = node
                order.append(parent)
    event.nodes = order
    for node in order:
        node.walks.append(event)
        if not event.retains:
            node.freed_by = node.freed_by or event


def leads_to(event: BackwardPass) -> set[Node] | None:
    """The nodes that a walk with `inputs=` executes: those above one of the inputs, not the inputs' own."""
    if event.targets is None:
        return None
    nodes, leaves = event.targets
    below = history(list(event.roots))
    wanted: set[Node] = set()
    changed = True
    while changed:
        changed = False
        for node in reversed(below):
            if node in wanted:
                continue
            if any(p in nodes or p in wanted for p in node.parents) or any(leaf in leaves for leaf in node.leaves):
                wanted.add(node)
                changed = True
    return wanted


def path_to(node: Node, came_from: dict[Node, Node | None]) -> tuple[Node, ...]:
    """The nodes between the root of a walk and `node`, root first."""
    path = [node]
    while (above := came_from[path[-1]]) is not None:
        path.append(above)
    return tuple(reversed(path))


def split_loop(earlier: Context, later: Context) -> int | None:
    """Index of the outermost loop in which `earlier` and `later` lie in different iterations of one entry."""
    for index, (one, two) in enumerate(zip(earlier, later)):
        if one[0] is not two[0]:
            return None
        if one[1] != two[1]:
            return index
    return None

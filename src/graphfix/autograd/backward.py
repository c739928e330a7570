"""Backward passes: what a walk over a graph meets, and what it frees.

A walk is `Tensor.backward` or `torch.autograd.grad`. See "How autograd encodes the history",
https://pytorch.org/docs/stable/notes/autograd.html.
"""

from __future__ import annotations

import ast
import enum
import math
from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from graphfix.autograd.graph import Leaf, Node, Write, history, position
from graphfix.autograd.iteration import CallStack, Context
from graphfix.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from graphfix.autograd.severed import Severed


@dataclass(eq=False)
class Hit:
    """A walk met a node that an earlier walk had freed. `certain`: all nodes on the way there are.

    `came_from`: for each node of the walk, the one that it was reached from.
    """

    node: Node
    freed_by: BackwardPass
    came_from: dict[Node, Node | None]
    certain: bool

    @cached_property
    def path(self) -> tuple[Node, ...]:
        """The nodes from the root of the walk to the freed one, both included."""
        return path_to(self.node, self.came_from)


@dataclass(eq=False)
class Stale:
    """A walk met a node that had saved a leaf which has a newer version now."""

    node: Node
    leaf: Leaf
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

    @cached_property
    def leaves(self) -> frozenset[Leaf]:
        """The leaves that it leads to."""
        return frozenset(leaf for node in self.below for leaf in node.leaves)

    @cached_property
    def told_to_require(self) -> list[tuple[Leaf, Severed]]:
        """The leaves that had lost their graph before they were told to require grad, in the order of the program, and where they lost it."""
        leaves = dict.fromkeys(leaf for node in self.below for leaf in node.leaves)
        return [(leaf, leaf.severed) for leaf in sorted(leaves, key=lambda each: position(each.site)) if leaf.severed is not None]

    @property
    def leads_to_lost(self) -> bool:
        """Whether all that it leads to are such leaves."""
        return self.targets is None and 0 < len(self.told_to_require) == len(self.leaves)

    @cached_property
    def below(self) -> list[Node]:
        """Every node of the graph, the roots first."""
        return history(list(self.roots))


def met(event: BackwardPass) -> list[Node]:
    """The nodes that a walk meets, or may meet: one for certain tensors goes where code that is not in sight may lead to them."""
    if event.targets is None:
        return event.nodes
    below = event.below
    return event.nodes if all(node.certain for node in below) else below


def walk(event: BackwardPass) -> None:
    """Walk the graph from the event's roots: note what is freed or stale already, then free it unless it is retained."""
    wanted = leads_to(event)
    came_from: dict[Node, Node | None] = {root: None for root in event.roots if wanted is None or root in wanted}
    certain = {root: root.certain for root in came_from}  # whether all nodes on the way to each are
    order = list(came_from)
    for node in order:
        sure = certain[node]
        if node.freed_by is not None and node.saves:
            event.hits.append(Hit(node, node.freed_by, came_from, sure))
            continue  # torch raises here: what lies below is not reached
        note_versions(event, node, came_from, sure)
        for parent in node.parents:
            if parent not in came_from and (wanted is None or parent in wanted):
                came_from[parent] = node
                certain[parent] = sure and parent.certain
                order.append(parent)
    event.nodes = order
    for node in order:
        node.walks.append(event)
        if not event.retains:
            node.freed_by = node.freed_by or event


def note_versions(event: BackwardPass, node: Node, came_from: dict[Node, Node | None], sure: bool) -> None:
    """Note which of the tensors that a node has saved have a newer version now. `sure`: the walk certainly comes to it."""
    for leaf, version in zip(node.leaves, node.versions):
        if version is not None and leaf.version != version:
            event.stale.append(Stale(node, leaf, sure))
    if node.guessed is not None and node.guessed[0].version != node.guessed[1]:
        # what a module returns whose parameters an optimizer has is a graph, and so is what torch makes of it
        way = path_to(node, came_from)
        is_graph = all(step.certain or step.guessed is not None or step.callee is None for step in way)
        event.stale.append(Stale(node, node.guessed[0], is_graph))
    for storage, version in node.saved:
        if storage.version != version:
            event.overwritten.append(Overwritten(node, storage.writes[version], sure))


def leads_to(event: BackwardPass) -> set[Node] | None:
    """The nodes that a walk with `inputs=` executes: those above one of the inputs, not the inputs' own."""
    if event.targets is None:
        return None
    nodes, leaves = event.targets
    below = event.below
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


def is_freed(node: Node, before: float) -> bool:
    """Whether a walk has freed what a node saved, before this moment."""
    return node.saves and node.freed_by is not None and node.freed_by.order < before


def raises_again(node: Node, sure: Callable[[Node], bool], before: float = math.inf, walkable: set[Node] | None = None) -> bool:
    """Whether any walk through `node` would raise: below it, by a path that is known to be graph, lies a freed saved tensor.

    A sum of two losses of which it is not known which one has a graph needs one of them: that is freed where both are.

    `before`: only what was freed before this moment of the run counts. `walkable` collects the nodes through which a walk
    would not raise, for further questions of the same moment.
    """
    without = walkable if walkable is not None else set()
    seen = {node} - without
    order = list(seen)
    for step in order:
        if not sure(step):
            continue
        if is_freed(step, before):
            return True
        if step.parents and not step.leaves and all(is_freed(parent, before) for parent in step.parents):
            return True
        for parent in step.parents:
            if parent not in seen and parent not in without:
                seen.add(parent)
                order.append(parent)
    without |= seen
    return False

"""What becomes of the gradients that a walk leaves in the leaves: used by a step, or cleared before any step comes.

A gradient that is cleared unused may be cut off without changing any training: that decides which of two walks over one
graph wants a `detach()`, and where.
"""

from __future__ import annotations

import ast
import bisect
import enum
from collections.abc import Callable, Iterable, Sequence

from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import CallStack
from graphfix.lazy_dataclass import dataclass


@dataclass(eq=False)
class Update:
    """An optimizer step or another write in place (`steps`), or the clearing of gradients, of these parameters.

    `complete`: whether these are all of them, as far as the optimizer was understood. `guessed`: those that stand for the parameters
    of modules that are not in sight, of which nothing else is known. `ahead`: the run came to it before its turn, behind a `yield`.
    `zeros`: the clearing leaves gradients of zeros.
    """

    site: ast.AST
    order: int
    steps: bool
    leaves: frozenset[Leaf]
    trace: CallStack = ()
    complete: bool = True
    guessed: frozenset[Leaf] = frozenset()
    ahead: bool = False
    zeros: bool = False


class Fate(enum.Enum):
    """What happens first to a gradient."""

    USED = "a step reads it"
    DROPPED = "it is cleared"
    UNKNOWN = "the run ends, or an optimizer outside the analysed code steps"


class Fates:
    """The fate of every gradient of one run, by walk and leaf.

    `walks` and `updates` in the order of the run; `read`: whether the program reads a gradient itself, so that a step which no
    update shows may be made with it.
    """

    def __init__(self, walks: Sequence[BackwardPass], updates: Sequence[Update], read: Callable[[], bool] = lambda: True) -> None:
        self.updates = updates
        self.updates_of: dict[Leaf, list[Update]] = {}
        for update in updates:
            for leaf in update.leaves:
                self.updates_of.setdefault(leaf, []).append(update)
        self.doubtful = [update for update in updates if not update.complete]  # of which not all leaves are known
        self.ahead = {leaf for update in updates if update.ahead for leaf in update.leaves}
        self.read = read
        self.idle: tuple[bool, set[Leaf]] | None = None
        self.led: dict[BackwardPass, set[Node]] = {}
        self.known: dict[tuple[object, Leaf], set[Fate]] = {}
        for event in walks:
            for leaf in event.leaves:
                self.known.setdefault((event.site, leaf), set()).add(self.fate(event, leaf))

    def fate(self, event: BackwardPass, leaf: Leaf) -> Fate:
        """What the next update of the leaf does with its gradient, where none before may be one, too."""
        update = next_of(self.updates_of.get(leaf, ()), event)
        doubtful = next_of(self.doubtful, event)
        if update is None or doubtful is not None and doubtful.order < update.order:
            return Fate.UNKNOWN
        if not update.steps and leaf in self.ahead:
            return Fate.UNKNOWN
        return Fate.USED if update.steps else Fate.DROPPED

    def is_dropped(self, event: BackwardPass, leaf: Leaf) -> bool:
        """Whether every gradient that this call leaves in `leaf` is cleared unused; the end of the run says nothing."""
        fates = self.known.get((event.site, leaf), set())
        return Fate.DROPPED in fates and Fate.USED not in fates or self.is_idle(leaf)

    def is_idle(self, leaf: Leaf) -> bool:
        """Whether the leaf belongs to a module that nobody trains: every step of the run is known, and none is over it."""
        if self.idle is None:
            steps = [update for update in self.updates if update.steps]
            known = bool(steps) and all(update.complete for update in steps) and not self.read()
            self.idle = (known, {other for update in steps for other in update.leaves})
        known, stepped = self.idle
        return known and leaf.module and leaf not in stepped

    def is_used(self, event: BackwardPass, leaf: Leaf) -> bool:
        return Fate.USED in self.known.get((event.site, leaf), set())

    def is_for_others(self, event: BackwardPass, leaf: Leaf) -> bool:
        """Whether a gradient of this call is cleared, and no step of the run is ever over the leaf: it is there for who is not in sight."""
        cleared = leaf.module and not leaf.trained and self.is_dropped(event, leaf) and not self.is_idle(leaf)
        return cleared and not any(update.steps for update in self.updates_of.get(leaf, ()))

    def leading(self, event: BackwardPass) -> set[Node]:
        """The nodes of the walk that carry a gradient to a leaf where it may be used."""
        if event in self.led:
            return self.led[event]
        found = self.led[event] = set()
        for node in sorted(event.below, key=lambda n: n.order):
            if any(parent in found for parent in node.parents) or any(not self.is_dropped(event, leaf) for leaf in node.leaves):
                found.add(node)
        return found


def next_of(updates: Sequence[Update], event: BackwardPass) -> Update | None:
    """The first of these updates, which are in the order of the run, behind a walk."""
    number = bisect.bisect_left(updates, event.order, key=lambda update: update.order)
    return updates[number] if number < len(updates) else None


def severable(fates: Fates, event: BackwardPass, bad: Iterable[Node]) -> list[tuple[Node, Node]] | None:
    """The edges (node, parent) of the walk behind which `bad` nodes lie and only gradients that are dropped.

    None where a gradient that may be used passes one of them: then no cut leaves the training as it is.
    """
    wanted = set(bad)
    kept = fates.leading(event)
    if any(fates.is_for_others(event, leaf) for leaf in event.leaves):
        return None
    if not kept or kept & wanted:
        return None
    edges = [
        (node, parent)
        for node in kept
        for parent in node.parents
        if parent not in kept and any(below in wanted for below in history([parent]))
    ]
    return sorted(edges, key=lambda edge: edge[0].order) or None

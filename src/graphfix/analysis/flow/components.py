"""What lies before a node in a graph, for all nodes at once: circles are found, and each is asked once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from itertools import chain, islice
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)
Found = TypeVar("Found", bound=Hashable)


def gathered(
    nodes: Iterable[Node], before: Callable[[Node], Collection[Node]], own: Callable[[Node], Iterable[Found]]
) -> dict[Node, tuple[Found, ...]]:
    """For each of `nodes` and all nodes before them: what is the `own` of it and of the nodes before it, in a steady order.

    Nodes with the same answer share it, so that the answers of long chains take no room.
    """
    found: dict[Node, tuple[Found, ...]] = {}
    _gather(found, nodes, before, own)
    return found


class Gathering(Generic[Node, Found]):
    """The same of a graph that grows: only what lies behind a node that has changed is asked anew.

    `behind`: the nodes that a node lies before, and maybe others.
    """

    def __init__(
        self,
        before: Callable[[Node], Collection[Node]],
        behind: Callable[[Node], Iterable[Node]],
        own: Callable[[Node], Iterable[Found]],
    ) -> None:
        self.before = before
        self.behind = behind
        self.own = own
        self.found: dict[Node, tuple[Found, ...]] = {}

    def forget(self, changed: Iterable[Node]) -> dict[Node, tuple[Found, ...]]:
        """Drop what was found out of nodes of which something has `changed`, and of all behind them; the answers that are dropped."""
        dropped: dict[Node, tuple[Found, ...]] = {}
        pending = list(changed)
        while pending:
            node = pending.pop()
            answer = self.found.pop(node, None)
            if answer is not None:
                dropped[node] = answer
                pending.extend(self.behind(node))
        return dropped

    def gather(self, nodes: Iterable[Node]) -> list[Node]:
        """Find out what is not known of `nodes` and those before them; the nodes of which it was not."""
        known = len(self.found)
        _gather(self.found, nodes, self.before, self.own)
        return list(islice(self.found, known, None))


def _gather(
    found: dict[Node, tuple[Found, ...]],
    nodes: Iterable[Node],
    before: Callable[[Node], Collection[Node]],
    own: Callable[[Node], Iterable[Found]],
) -> None:
    """Add to `found` what is not there."""
    for members in components(nodes, before, found):
        mine = tuple(dict.fromkeys(own(members[0]) if len(members) == 1 else chain.from_iterable(map(own, members))))
        if len(members) == 1 and not mine and len(earlier := before(members[0])) == 1:
            found[members[0]] = found.get(next(iter(earlier)), ())  # a link of a chain
            continue
        parts = {id(mine): mine} if mine else {}
        for member in members:
            for each in before(member):
                part = found.get(each)
                if part:
                    parts[id(part)] = part
        found.update(dict.fromkeys(members, joined(list(parts.values()))))


def joined(parts: list[tuple[Found, ...]]) -> tuple[Found, ...]:
    """What is in any of `parts`, each once; the first of them where that is all."""
    if len(parts) < 2:
        return parts[0] if parts else ()
    merged = dict.fromkeys(chain.from_iterable(parts))
    return parts[0] if len(merged) == len(parts[0]) else tuple(merged)


def components(
    nodes: Iterable[Node], before: Callable[[Node], Collection[Node]], done: Iterable[Node] = ()
) -> Iterator[list[Node]]:
    """The strongly connected components of `nodes` and all nodes `before` them; a component comes after those before it.

    Tarjan, Depth-First Search and Linear Graph Algorithms, 1972; with a stack of its own, as graphs are deeper than Python's calls.
    `done`: nodes that are left out with all before them.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    closed = set(done)
    stack: list[Node] = []
    for root in nodes:
        work = [(root, iter((root,)))] if root not in closed else []
        while work:
            node, rest = work[-1]
            for each in rest:
                if each in closed:
                    continue
                if each in number:
                    low[node] = min(low[node], number[each])
                    continue
                earlier = before(each)
                if closed.issuperset(earlier):  # it lies on no circle
                    closed.add(each)
                    yield [each]
                    continue
                number[each] = low[each] = len(number)
                stack.append(each)
                work.append((each, iter(earlier)))
                break
            else:
                work.pop()
                if not work:
                    break
                above = work[-1][0]
                low[above] = min(low[above], low[node])
                if low[node] == number[node]:
                    members = [stack.pop()]
                    while members[-1] != node:
                        members.append(stack.pop())
                    closed.update(members)
                    yield members

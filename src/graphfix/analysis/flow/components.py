"""What lies before a node in a graph, for all nodes at once: circles are found, and each is asked once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
Found = TypeVar("Found", bound=Hashable)


def gathered(
    nodes: Iterable[Node], before: Callable[[Node], Iterable[Node]], own: Callable[[Node], Iterable[Found]]
) -> dict[Node, tuple[Found, ...]]:
    """For each of `nodes` and all nodes before them: what is the `own` of it and of the nodes before it, in a steady order.

    Nodes with the same answer share it, so that the answers of long chains take no room.
    """
    found: dict[Node, tuple[Found, ...]] = {}
    for members in components(nodes, before):
        mine = tuple(dict.fromkeys(each for member in members for each in own(member)))
        parts = {
            id(part): part for part in (mine, *(found.get(each, ()) for member in members for each in before(member))) if part
        }
        answer = tuple(dict.fromkeys(each for part in parts.values() for each in part))
        if len(parts) < 2:
            answer = next(iter(parts.values()), ())
        found.update(dict.fromkeys(members, answer))
    return found


def components(nodes: Iterable[Node], before: Callable[[Node], Iterable[Node]]) -> Iterator[list[Node]]:
    """The strongly connected components of `nodes` and all nodes `before` them; a component comes after those before it.

    Tarjan, Depth-First Search and Linear Graph Algorithms, 1972; with a stack of its own, as graphs are deeper than Python's calls.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    closed: set[Node] = set()
    stack: list[Node] = []
    for root in nodes:
        work = [(root, iter((root,)))] if root not in number else []
        while work:
            node, rest = work[-1]
            for each in rest:
                if each not in number:
                    number[each] = low[each] = len(number)
                    stack.append(each)
                    work.append((each, iter(before(each))))
                    break
                if each not in closed:
                    low[node] = min(low[node], number[each])
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

"""What walks have shown of some nodes, and by that of others which the same code makes.

A loss that goes backward in one iteration is a tensor in the next, and in another run. What a function computes for another of its
calls, or an inner loop in another of its turns, may be something else: `[f(out, y) for f in (criterion, accuracy)]`. What the very same function out of
sight gives at the same place is of the same kind, whoever asks for it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import Context

# an expression, and the statements of the calls that led to it
Place = tuple[ast.AST, tuple[ast.stmt, ...]]


def made_at(node: Node) -> Place:
    """Where a node is made."""
    return node.site, tuple([statement for _, statement in node.trace])


class Shown:
    """Nodes of which something is known, and with them those that are made likewise: at the same place, in the same turn of its inner
    loops. `sites`: the expressions that make them, of which other calls may make something else.
    """

    def __init__(self) -> None:
        self._turns: dict[Place, set[tuple[int, tuple[int, ...]]]] = {}
        self._made_by: set[tuple[ast.AST, object]] = set()
        self.sites: set[ast.AST] = set()

    def add(self, nodes: Iterable[Node], contexts: Collection[Context]) -> None:
        """Add nodes of which something tells that happens in these contexts: loops around both bring the same again."""
        for node in nodes:
            place = made_at(node)
            self.sites.add(node.site)
            depth = max((shared(node.context, context) for context in contexts), default=len(node.context))
            self._turns.setdefault(place, set()).add((depth, turns(node, depth)))
            if node.callee is not None:
                self._made_by.add((node.site, node.callee))

    def __contains__(self, node: Node) -> bool:
        if node.callee is not None and (node.site, node.callee) in self._made_by:
            return True
        return any(turns(node, depth) == shown for depth, shown in self._turns.get(made_at(node), ()))


def shared(one: Context, two: Context) -> int:
    """How many loops both lie in, in the same iteration."""
    count = 0
    for first, second in zip(one, two):
        if first != second:
            break
        count += 1
    return count


def turns(node: Node, depth: int) -> tuple[int, ...]:
    """In which iteration of each loop a node is made that is not one of the first `depth` around it."""
    return tuple([iteration for _, iteration in node.context[depth:]])


def composition(node: Node) -> tuple[object, ...]:
    """What an unknown call was composed of: `criterion(model(x), y)` gives the same kind of value wherever it is written like that."""
    site = node.site
    names = (len(site.args), *(keyword.arg for keyword in site.keywords)) if isinstance(site, ast.Call) else ()
    return node.callee, names, frozenset(parent.callee for parent in node.parents)

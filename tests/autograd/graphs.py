"""Graphs built by hand: what a test of the theory is written in."""

from __future__ import annotations

import ast
import itertools

from graphfix.autograd.backward import BackwardPass, WalkKind, walk
from graphfix.autograd.gradients import Update
from graphfix.autograd.graph import Leaf, Node
from graphfix.autograd.iteration import Context

HERE = ast.parse("loss.backward()").body[0].value  # type: ignore[attr-defined]
_moments = itertools.count(1)


def node(*below: Node | Leaf, saves: bool = True, context: Context = (), certain: bool = True) -> Node:
    """What an operation on `below` records; `saves`: its backward needs saved tensors."""
    parents = tuple(part for part in below if isinstance(part, Node))
    leaves = tuple(part for part in below if isinstance(part, Leaf))
    made = Node(HERE, (), context, parents, saves, leaves, saves, certain)
    made.order = next(_moments)
    return made


def backward(
    *roots: Node, retain: bool = False, inputs: tuple[Node | Leaf, ...] | None = None, site: ast.Call | None = None
) -> BackwardPass:
    """A backward pass from `roots`, walked."""
    targets = None
    if inputs is not None:
        targets = (
            frozenset(part for part in inputs if isinstance(part, Node)),
            frozenset(part for part in inputs if isinstance(part, Leaf)),
        )
    event = BackwardPass(site or call(), (), (), roots, retain, False, None, WalkKind.METHOD, next(_moments), targets=targets)
    walk(event)
    return event


def call() -> ast.Call:
    """A backward call of its own: what is told of one is told by its place in the source."""
    return ast.Call(ast.Name("backward"), [], [])


def step(*leaves: Leaf, known: bool = True) -> Update:
    """An optimizer step over `leaves`; with `known` False over nobody knows which."""
    for leaf in leaves:
        leaf.version += 1
    return Update(HERE, next(_moments), True, frozenset(leaves), complete=known)


def clear(*leaves: Leaf) -> Update:
    """`zero_grad` of the optimizer over `leaves`."""
    return Update(HERE, next(_moments), False, frozenset(leaves))

"""The nodes below a node of a tree: looked for once, however often they are asked for."""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec, TypeVar

# `Load`, `Store` and `Del` are shared by all trees
_SHARED = ast.expr_context
# half of all nodes: they hold names and constants alone
_BARE = frozenset((ast.Name, ast.Constant, ast.alias, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue))
_BELOW = "_graphfix_below"
N = TypeVar("N", bound="ast.AST | None")
P = ParamSpec("P")
R = TypeVar("R")


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below `node`, in the order of its fields, as `ast.iter_child_nodes`, but for those that all trees share."""
    kind = type(node)
    if kind in _BARE:
        return []
    if kind is ast.Attribute:
        return [node.value]  # type: ignore[attr-defined]
    found: list[ast.AST] = []
    for name in kind._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [each for each in value if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, _SHARED):
            found.append(value)
    return found


def subtree(node: ast.AST) -> Iterable[ast.AST]:
    """`node` and all nodes below it, in the order of `ast.walk`, outer ones first. The tree does not change any more."""
    below = node.__dict__.get(_BELOW)
    if below is None:
        below = children(node)
        for each in below:  # it grows while it is read
            if type(each) not in _BARE:
                below += children(each)
        node.__dict__[_BELOW] = below
    return itertools.chain((node,), below)


def kept_with_node(answer: Callable[Concatenate[N, P], R]) -> Callable[Concatenate[N, P], R]:
    """What a function says of a node (its first argument) is found out once for each of the other arguments, and goes with the tree."""
    kept_as = f"_graphfix_{answer.__module__}.{answer.__qualname__}"

    @functools.wraps(answer)
    def look(node: N, *others: P.args, **none: P.kwargs) -> R:
        if node is None:
            return answer(node, *others, **none)
        kept = node.__dict__.setdefault(kept_as, {})
        if others not in kept:
            kept[others] = answer(node, *others, **none)
        return kept[others]

    return look

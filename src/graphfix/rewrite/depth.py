"""How deep code may be nested before libcst is not asked: its parser dies on what `ast` survives."""

from __future__ import annotations

import ast
import re

from graphfix.source.subtree import children

_BRACKET = re.compile(rb"[(\[{]|[)\]}]")
_ADJACENT = re.compile(rb"(?:[\"'][ \t\\\r\n]*[bBrRfFuU]{0,2}[\"'][^\"'\r\n]*){200}")
BRACKETS = 100
LEVELS = 150


def too_deep(data: bytes, node: ast.AST) -> bool:
    return bracket_depth(data) > BRACKETS or _levels(node) > LEVELS or _ADJACENT.search(data) is not None


def bracket_depth(data: bytes) -> int:
    """The deepest nesting of brackets; those in strings count too, which errs on the careful side."""
    depth = deepest = 0
    for match in _BRACKET.finditer(data):
        if match.group() in b"([{":
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest


def _levels(node: ast.AST) -> int:
    """Levels of the tree, or the first number beyond the limit; without recursion."""
    level, depth = [node], 0
    while level and depth <= LEVELS:
        level = [child for parent in level for child in children(parent)]
        depth += 1
    return depth

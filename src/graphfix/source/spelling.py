"""What a piece of code spells, whatever that means."""

from __future__ import annotations

import ast

from graphfix.source.subtree import kept_with_node, subtree

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def word(node: ast.AST) -> str:
    """The name that a name or attribute is spelled with."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@kept_with_node
def spelled_in(code: ast.AST) -> frozenset[str]:
    """The names of attributes and variables in a piece of code."""
    parts = (part for part in subtree(code) if isinstance(part, (ast.Attribute, ast.Name)))
    return frozenset(part.attr if isinstance(part, ast.Attribute) else part.id for part in parts)

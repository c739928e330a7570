"""What an expression is by the way in which it is written."""

from __future__ import annotations

import ast
from collections.abc import Hashable


def is_text(node: ast.expr) -> bool:
    """Whether an expression is a text by the way it is written."""
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or isinstance(node.op, (ast.Add, ast.Mult)) and is_text(node.right)
    return isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def constant(node: ast.AST) -> Hashable:
    """The key that a subscript is written with; None where it is computed, or counts from the end."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int)):
        return node.value
    return None

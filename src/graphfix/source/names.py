"""The names that code reads and writes."""

from __future__ import annotations

import ast

from graphfix.source.subtree import children, subtree


def names_in(nodes: list, context: type) -> set[str]:
    return {part.id for node in nodes for part in subtree(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


def names_read_outside(scope: ast.AST, loop: ast.AST, statements: list[ast.stmt], before: float = float("inf")) -> set[str]:
    """Names of `scope` that are read in it outside of `loop` and `statements`, above line `before`."""
    skipped: set[ast.AST] = {loop, *statements}
    found: set[str] = set()
    pending = [scope]
    while pending:
        node = pending.pop()
        if node in skipped:
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and node is not scope:
            found |= {name for name in names_read_outside(node, loop, statements, before) if name not in locals_of(node)}
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.lineno < before:
            found.add(node.id)
        pending.extend(children(node))
    return found


def locals_of(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Names that belong to the function itself: its parameters and what it assigns."""
    signature = function.args
    parameters = {argument.arg for argument in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)}
    return parameters | names_in([function], ast.Store)

"""From syntax to code objects: each is lowered when it is asked for, once."""

from __future__ import annotations

import ast

from graphfix.ir.blocks import Code
from graphfix.ir.builder import Builder
from graphfix.ir.statements import lowered
from graphfix.ir.variables import CODES, Scope, scopes_of


class Lowered:
    """The code objects of a module. It raises nothing: syntax that has no instruction of its own becomes an `Opaque`."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.scopes = scopes_of(tree)
        self._codes: dict[ast.AST, Code] = {}
        self._future = any(
            isinstance(part, ast.ImportFrom) and part.module == "__future__" and any(a.name == "annotations" for a in part.names)
            for part in tree.body
        )

    def code(self, node: ast.AST) -> Code:
        """The code object of a module, function, lambda, class body or generator expression of this file."""
        found = self._codes.get(node)
        if found is None:
            self._codes[node] = found = lowered(Builder(self.scopes[node], self.scopes, self._future))
        return found

    def codes(self) -> list[Code]:
        """All of them, the outer ones first."""
        return [self.code(node) for node in self.nodes()]

    def nodes(self) -> list[ast.AST]:
        """The syntax of all code objects, the outer ones first."""
        return [node for node in self.scopes if isinstance(node, CODES)]

    def scope(self, node: ast.AST) -> Scope:
        return self.scopes[node]

"""From syntax to its instructions: which code object a node runs in, and which instructions it has become there."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Instruction
from graphfix.ir.lowering import Lowered
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

_KEPT: WeakKeyDictionary[Document, Origins] = WeakKeyDictionary()


class Origins:
    """The instructions of a document, by the syntax that they come from."""

    def __init__(self, tree: ast.Module, parents: Mapping[ast.AST, ast.AST]) -> None:
        self.lowered = Lowered(tree)
        self.parents = parents
        self._of: dict[ast.AST, dict[ast.AST, list[Instruction]]] = {}
        self._owners: dict[ast.AST, ast.AST] = {}

    def owner(self, node: ast.AST) -> ast.AST:
        """The syntax of the code object in which a node runs: of a parameter, its function."""
        found = self._owners.get(node)
        if found is None:
            self._owners[node] = found = self._owner(node)
        return found

    def _owner(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.arg):
            return self.parents[self.parents[node]]
        below, above = node, self.parents.get(node)
        inner: ast.AST | None = None
        while above is not None:
            if runs_inside(above, below, inner):
                return above
            inner, below, above = below, above, self.parents.get(above)
        return self.lowered.tree

    def code(self, node: ast.AST) -> Code:
        """The code object in which a node runs."""
        return self.lowered.code(self.owner(node))

    def own(self, code: Code) -> dict[ast.AST, list[Instruction]]:
        """The instructions of a code object, by their nodes."""
        found = self._of.get(code.node)
        if found is None:
            self._of[code.node] = found = {}
            for each in code.instructions():
                found.setdefault(each.node, []).append(each)
        return found

    def of(self, node: ast.AST) -> list[Instruction]:
        """The instructions that come from a node itself: several where it is copied, as `finally` is."""
        return self.own(self.code(node)).get(node, [])

    def within(self, node: ast.AST) -> list[Instruction]:
        """The instructions of a statement or expression, and of all that stands in it and runs in the same code object."""
        own = self.own(self.code(node))
        return [each for part in subtree(node) for each in own.get(part, ())]


def runs_inside(above: ast.AST, below: ast.AST, inner: ast.AST | None) -> bool:
    """Whether what stands in `below`, right below `above`, runs in the code object of `above`; `inner`: what it stands in there."""
    if isinstance(above, ast.Lambda):
        return below is above.body
    if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return any(below is each for each in above.body)
    if isinstance(above, ast.GeneratorExp):
        return not (below is above.generators[0] and inner is above.generators[0].iter)
    return isinstance(above, ast.Module)


def origins(document: Document) -> Origins:
    """The instructions of a document: lowered once, whatever it is imported as."""
    found = _KEPT.get(document.first)
    if found is None:
        _KEPT[document.first] = found = Origins(document.tree, document.parents)
    return found

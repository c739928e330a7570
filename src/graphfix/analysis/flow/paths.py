"""The ways through the code of a flow: which instructions a node has become, and where errors go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.swallowed import context_may_swallow
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Exit, Instruction
from graphfix.ir.origins import Origins, origins

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow


class Paths:
    """The code objects of all documents of a flow, by their syntax.

    `parents`: the node that each node stands in. `callers`: the calls that may enter a function.
    """

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.parents: dict[ast.AST, ast.AST] = {}
        for document in flow.code.documents.values():
            self.parents.update(document.parents)
        self.callers: dict[ast.AST, list[ast.Call]] = {}
        for call, functions in flow.calls.targets.items():
            for function in functions:
                self.callers.setdefault(function, []).append(call)
        self._ways: dict[ast.AST, Ways] = {}

    def origins(self, node: ast.AST) -> Origins | None:
        """The instructions of the file that a node stands in; None for a node of none."""
        document = self.flow.code.documents.get(self.module(node))
        return origins(document) if document is not None else None

    def owner(self, node: ast.AST) -> ast.AST | None:
        """The function, class body, generator expression or module in which a node runs."""
        found = self.origins(node)
        return found.owner(node) if found is not None else None

    def ways(self, node: ast.AST) -> Ways:
        """The ways through the code in which a node of the flow runs."""
        found = self.origins(node)
        assert found is not None
        return self.through(found.owner(node))

    def through(self, owner: ast.AST) -> Ways:
        """The ways through a function, class body, generator expression or module."""
        ways = self._ways.get(owner)
        if ways is None:
            found = self.origins(owner)
            assert found is not None
            self._ways[owner] = ways = Ways(found.lowered.code(owner), self.swallows)
        return ways

    def swallows(self, leaving: Exit) -> bool:
        """Whether a context manager may keep an error from going further."""
        return not isinstance(leaving.node, ast.withitem) or context_may_swallow(self.flow, leaving.node)

    def of(self, node: ast.AST) -> list[Instruction]:
        """The instructions that a node has become itself."""
        found = self.origins(node)
        return found.of(node) if found is not None else []

    def within(self, node: ast.AST) -> list[Instruction]:
        """The instructions of a node and of all that runs with it."""
        found = self.origins(node)
        return found.within(node) if found is not None else []

    def raising(self, node: ast.AST) -> list[Instruction]:
        """The instructions at which an error leaves a node: of a statement that has others in it, those of its head.

        Where a node has become none, as a `pass`, those of what it stands in, in the same code object. None for a node of no file.
        """
        owner = self.owner(node)
        while not (found := self.within(node)):
            above = self.parents.get(node)
            if above is None or above is owner:
                return self.through(owner).code.entry.instructions[:1] if owner is not None else []
            node = above
        if hasattr(node, "body"):
            position = self.ways(node).position
            return [min(found, key=lambda each: (position[each][0].number, position[each][1]))]
        return found

    def module(self, node: ast.AST) -> ast.AST:
        """The outermost node that a node stands in."""
        while (above := self.parents.get(node)) is not None:
            node = above
        return node

    def at_module(self, node: ast.AST) -> list[Instruction]:
        """The instructions of a module before which a node, in whatever function, cannot run."""
        module = self.module(node)
        while self.owner(node) not in (module, None):
            node = self.owner(node)  # type: ignore[assignment]
        return self.raising(node)

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement is one of."""
        document = self.flow.code.documents[self.module(statement)]
        return document.block_of(statement)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds a node."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What the node stands in, the closest first."""
        above = self.parents.get(node)
        while above is not None:
            yield above
            above = self.parents.get(above)

    def function(self, node: ast.AST) -> ast.AST | None:
        """The function that a node stands in."""
        return next((each for each in self.around(node) if isinstance(each, FUNCTIONS)), None)

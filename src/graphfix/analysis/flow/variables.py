"""The flow of variables: which definitions a read may see, and through which cells names get from one code object to another."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Cell, Field, Kind, Place
from graphfix.dataflow.definitions import Definitions
from graphfix.dataflow.ways import Ways
from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Exit, Instruction, MakeFunction, WriteName
from graphfix.ir.origins import Origins
from graphfix.ir.variables import Home, Scope, Variable


class Variables:
    """Adds the edges of variables to `flow`, for one code object (`code`) after the other.

    `borrowed`: the variables of the document that another function or class reads or writes; `written`: those that it writes. A generator
    expression is a part of the code around it, which runs where it stands.
    """

    def __init__(self, flow: FlowGraph) -> None:
        self.flow = flow
        self.origins: Origins
        self.code: Code
        self.borrowed: set[Variable] = set()
        self.written: set[Variable] = set()
        self.definitions: dict[ast.AST, Definitions] = {}

    def share(self) -> None:
        """Find out which variables of the document travel."""
        self.borrowed, self.written = set(), set()
        scopes = self.origins.lowered.scopes
        for scope in scopes.values():
            for name in scope.used:
                variable = scope.variable(name)
                writes = scope.spelled(name) in scope.bound or scope.spelled(name) in scope.walruses
                if scope.code is not variable.owner and writes:
                    self.written.add(variable)
                if running_code(scope.code, scopes) is not running_code(variable.owner, scopes):
                    self.borrowed.add(variable)
                    if scope.spelled(name) in scope.globals | scope.nonlocals:
                        self.written.add(variable)

    def cell(self, variable: Variable) -> Cell:
        return Cell(variable.owner, variable.name)

    def is_unknown(self, variable: Variable) -> bool:
        """Whether nothing in the file binds a name."""
        module = self.origins.lowered.scopes[self.origins.lowered.tree]
        return variable.home is Home.GLOBAL and variable.name not in module.bound and variable not in self.written

    def bind_variable(self, variable: Variable, place: Place) -> None:
        """A variable means what is at `place` from here on; who borrows it may see it, too."""
        own = variable.owner is self.code.node
        if not own or variable in self.borrowed or variable in self.written or variable.home is Home.GLOBAL:
            self.flow.add(place, self.cell(variable), Kind.SAME, crosses=True)
        if own and variable.home is Home.CLASS:
            name = getattr(place, "id", None) or getattr(place, "name", None) or variable.name  # a private one as it is written
            self.flow.add(place, Field(name), Kind.SAME, crosses=True)

    def read_variable(self, read: Instruction, variable: Variable, place: Place) -> None:
        """The value of a variable, where an instruction reads it, gets to `place`."""
        if self.is_unknown(variable):
            for cell in self.starred(variable.name):
                self.flow.add(cell, place, Kind.SAME, crosses=True)
            return
        code, at = self.running_in(variable, read)
        if variable.owner is not code.node:
            self.flow.add(self.cell(variable), place, Kind.SAME, crosses=True)
            return
        for definition, carried, _ in self.known_in(code).reaching(at, variable):
            for source in self.defined_at(code, definition):
                if source is not place:
                    self.flow.add(source, place, Kind.SAME, crosses=carried)
        if variable in self.written:
            self.flow.add(self.cell(variable), place, Kind.SAME, crosses=True)

    def running_in(self, variable: Variable, read: Instruction) -> tuple[Code, Instruction]:
        """The code object, and the instruction in it, at which a read sees a variable: where a generator expression is made, if it is read there."""
        code, at = self.code, read
        while isinstance(code.node, ast.GeneratorExp) and variable.owner is not code.node:
            outer = self.origins.code(code.node)
            made = [each for each in self.origins.of(code.node) if isinstance(each, MakeFunction)]
            if not made:
                break
            code, at = outer, made[0]
        return code, at

    def known_in(self, code: Code) -> Definitions:
        found = self.definitions.get(code.node)
        if found is None:
            self.definitions[code.node] = found = Definitions(Ways(code, self.may_swallow))
        return found

    def may_swallow(self, leaving: Exit) -> bool:
        """Whether a context manager may keep an error from going further: no library says that it does not.

        Which one of the program it is, is known only once all edges are there: `swallowed` asks again, of proofs.
        """
        item = leaving.node
        called = item.context_expr if isinstance(item, ast.withitem) else None
        if not isinstance(called, ast.Call):
            return True
        return library.may_swallow(self.dotted(called.func) or (called.func.id if isinstance(called.func, ast.Name) else ""))

    def defined_at(self, code: Code, definition: Instruction) -> Iterable[Place]:
        """The places at which a definition has what it gives."""
        if isinstance(definition, WriteName) and definition.variable.home is Home.TEMPORARY:
            return [place for place, _, _ in self.brought_by(code, definition.value)]
        return [definition.node]

    def brought_by(self, code: Code, value: int) -> list[tuple[Place, Kind, object]]:
        raise NotImplementedError

    def dotted(self, node: ast.AST) -> str | None:
        raise NotImplementedError

    def starred(self, name: str) -> Iterator[Cell]:
        raise NotImplementedError


def running_code(node: ast.AST, scopes: dict[ast.AST, Scope]) -> ast.AST:
    """The code object around generator expressions, in which they run."""
    while isinstance(node, ast.GeneratorExp):
        outer = scopes[node].outer
        assert outer is not None
        node = outer.code
    return node



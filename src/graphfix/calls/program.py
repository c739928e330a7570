"""The files of a program: each lowered once, and which file an import means."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from graphfix.ir.blocks import Code
from graphfix.ir.instructions import Call, Constant, Import, Instruction, Opaque, Parameter, ReadName, WriteAttribute, WriteName
from graphfix.ir.origins import Origins, origins
from graphfix.ir.variables import CODES, Home, Scope, Variable
from graphfix.source.document import Document

# a name of a module to its document, where it is one of the project's: asked with the document that imports it
Find = Callable[[str, Document], Document | None]
# how much of a project one program looks into: files, and characters of those that are imported
MAX_FILES = 40
MAX_LENGTH = 200_000
Placed = tuple[Code, Instruction]


def bound_by(each: Instruction) -> tuple[Variable, ...]:
    """The variables that an instruction gives a value."""
    if isinstance(each, (WriteName, Parameter)):
        return (each.variable,)
    return each.writes if isinstance(each, Opaque) else ()


class File:
    """One file of a program, lowered, and what is asked of it by names."""

    def __init__(self, tree: ast.Module, of: Origins) -> None:
        self.tree = tree
        self.origins = of
        self.lowered = of.lowered

    def codes(self) -> Iterator[Code]:
        """All its code objects, the outer ones first."""
        return map(self.lowered.code, self.lowered.nodes())

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        """All classes that it defines, the outer ones first."""
        return [node for node in self.lowered.nodes() if isinstance(node, ast.ClassDef)]

    @property
    def module(self) -> Code:
        """What runs when it is imported."""
        return self.lowered.code(self.tree)

    def variable(self, name: str) -> Variable | None:
        """The global variable of this name; None where the file binds none."""
        found = self.lowered.scopes[self.tree].variable(name)
        return found if self.binders(found) else None

    def member(self, cls: ast.ClassDef, name: str) -> Variable | None:
        """The variable of this name that the body of a class binds."""
        scope = self.lowered.scopes[cls]
        return scope.of_own(name) if name in scope.bound and name not in scope.globals else None

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The class in whose body a function or class is defined."""
        outer = self.lowered.scopes[node].outer
        return outer.node if outer is not None and isinstance(outer.node, ast.ClassDef) else None

    def class_of_method(self, node: ast.AST) -> ast.ClassDef | None:
        """The class that `super()` and `__class__` mean in a function."""
        scope: Scope | None = self.lowered.scopes[node]
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            scope = scope.outer
        return scope.node if scope is not None else None  # type: ignore[return-value]

    def is_imported(self, variable: Variable) -> bool:
        """Whether a name means nothing but what it is imported as."""
        known = self._imported.get(variable)
        if known is None:
            bound = self.binders(variable) if variable.home is not Home.TEMPORARY else []
            known = bool(bound) and all(
                isinstance(each, WriteName) and isinstance(code.givers[each.value], Import) for code, each in bound
            )
            self._imported[variable] = known
        return known

    @cached_property
    def _imported(self) -> dict[Variable, bool]:
        return {}

    def binders(self, variable: Variable) -> list[Placed]:
        """The instructions that may give a variable its value: parameters, assignments, definitions, imports, code that is not lowered."""
        return self._binders_of_global.get(variable, []) if variable.home is Home.GLOBAL else self._binders_in_scope(variable)

    @cached_property
    def _binders_of_global(self) -> dict[Variable, list[Placed]]:
        codes = {scope.code: None for scope in self.lowered.scopes.values() if scope.outer is None or scope.globals}
        found: dict[Variable, list[Placed]] = {}
        for node in codes:
            for variable, each in self._bound_in(node).items():
                found.setdefault(variable, []).extend(each)
        return found

    def _binders_in_scope(self, variable: Variable) -> list[Placed]:
        codes = {variable.owner: None}
        if variable.home is Home.CELL:
            codes.update((s.code, None) for s in self.lowered.scopes.values() if variable.name in s.nonlocals)
        return [each for node in codes for each in self._bound_in(node).get(variable, ())]

    def _bound_in(self, node: ast.AST) -> dict[Variable, list[Placed]]:
        kept = self._bound.get(node)
        if kept is None:
            code = self.lowered.code(node)
            self._bound[node] = kept = {}
            for each in code.instructions():
                for variable in bound_by(each):
                    kept.setdefault(variable, []).append((code, each))
        return kept

    @cached_property
    def _bound(self) -> dict[ast.AST, dict[Variable, list[Placed]]]:
        return {}

    @cached_property
    def attribute_writes(self) -> dict[str, list[tuple[Code, WriteAttribute]]]:
        """The instructions that set an attribute, by its name."""
        found: dict[str, list[tuple[Code, WriteAttribute]]] = {}
        for code in self.codes():
            for each in code.instructions():
                if isinstance(each, WriteAttribute):
                    found.setdefault(each.name, []).append((code, each))
        return found

    @cached_property
    def calls(self) -> list[tuple[Code, Call]]:
        """All calls, the outer code objects first."""
        return [(code, each) for code in self.codes() for each in code.instructions() if isinstance(each, Call)]

    @cached_property
    def sets_any(self) -> bool:
        """Whether it sets attributes by names that are computed."""
        for code, each in self.calls:
            giver = code.givers[each.function]
            if isinstance(giver, ReadName) and giver.variable.home is Home.GLOBAL and giver.variable.name == "setattr":
                if len(each.arguments) < 2 or not isinstance(code.givers[each.arguments[1].value], Constant):
                    return True
        return False

    @cached_property
    def star_imports(self) -> list[Import]:
        """The imports of all names of a module."""
        return [each for each in self.module.instructions() if isinstance(each, Import) and each.member == "*"]


class Program:
    """The files that a file imports, directly or not, taken in when they are asked for."""

    def __init__(self, main: Document, find: Find) -> None:
        self.find = find
        self.files: dict[ast.AST, File] = {}
        self.documents: dict[ast.AST, Document] = {}
        self.length = 0
        # by the names with which they are imported: files in folders that are no modules themselves
        self.packages: dict[str, File] = {}
        self._homes: dict[ast.AST, File] = {}
        self._meant: dict[tuple[ast.AST, str], File | None] = {}
        self.main = self.take_in(main)

    def take_in(self, document: Document) -> File:
        """The file that a document is."""
        known = self.files.get(document.tree)
        if known is None:
            self.files[document.tree] = known = File(document.tree, origins(document))
            self.documents[document.tree] = document
            self._homes.update((node, known) for node in known.lowered.scopes if isinstance(node, CODES))
        return known

    def home(self, node: ast.AST) -> File:
        """The file in which a code object, or a class, stands."""
        return self._homes[node]

    def module(self, name: str, file: File) -> File | None:
        """The file that a dotted name means in another one; None where it is none of the project, or there is no room for it."""
        asked = file.tree, name
        if asked not in self._meant:
            target = self.find(name, self.documents[file.tree]) if name else None
            self._meant[asked] = self._with_room(target) if target is not None else None
        return self._meant[asked]

    def _with_room(self, document: Document) -> File | None:
        if document.tree in self.files:
            return self.files[document.tree]
        if len(self.files) >= MAX_FILES or self.length + len(document.text) > MAX_LENGTH:
            return None
        self.length += len(document.text)
        return self.take_in(document)

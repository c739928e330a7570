"""All code that is in sight: a file and what it imports from its project, passed over once each."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from graphfix.analysis.flow.access import HANDING
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.instructions import Instructions
from graphfix.analysis.flow.lookup import Lookup
from graphfix.analysis.flow.places import Cell, Field, Kind, Place
from graphfix.calls.attributes import global_variable, with_starred
from graphfix.calls.graph import CallGraph
from graphfix.calls.implicit import run_by
from graphfix.calls.meanings import Display, Library, Meaning, Module
from graphfix.calls.program import Find, Program
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Row
from graphfix.ir.instructions import Kind as Built
from graphfix.ir.instructions import ReadName
from graphfix.ir.origins import Origins, origins
from graphfix.ir.variables import CODES, Home, Scope, Variable
from graphfix.source.builtin_names import builtin_of
from graphfix.source.document import Document
from graphfix.source.subtree import kept_with_node, subtree

ANY = Field("*")
READS_MAPPING = frozenset(("items", "keys", "values", "get", "copy"))


@kept_with_node
def defined_in(tree: ast.AST) -> list[ast.AST]:
    """The functions, lambdas and classes of a file, in whatever scope."""
    return [part for part in subtree(tree) if isinstance(part, (*FUNCTIONS, ast.ClassDef))]


def is_public(name: str) -> bool:
    """Whether `import *` takes a name, unless `__all__` says otherwise."""
    return not name.startswith("_") and name != "*"


def global_names(scopes: Iterable[Scope]) -> set[str]:
    """The global names that the scopes of a module bind."""
    return {name for scope in scopes for name in (scope.bound if scope.outer is None else scope.globals)}


def said_of(name: str) -> Row | None:
    """What a row says of a function, whatever its name is."""
    row = row_of(name)
    return replace(row, name="", source="", not_called="") if row is not None else None


class Sight(Instructions):
    """Passes over a document and the documents that it imports."""

    def __init__(self, find: Find) -> None:
        super().__init__(FlowGraph())
        self.find = find
        self.document: Document = None  # type: ignore[assignment]
        self.program: Program = None  # type: ignore[assignment]
        self.call_graph: CallGraph = None  # type: ignore[assignment]
        self.class_of: dict[ast.AST, ast.ClassDef] = {}
        self.functions: dict[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, None] = {}
        self.taken_in: dict[ast.AST, None] = {}
        self.library_names: dict[ast.alias, str] = {}

    @property
    def documents(self) -> dict[ast.AST, Document]:
        """The files in sight, by their trees."""
        return self.program.documents

    def look_at(self, document: Document) -> None:
        """Pass over `document` and all that it imports, directly or not."""
        self.program = Program(document, self.find)
        self.call_graph = CallGraph(self.program)
        for each in self.in_sight():
            self.take_in(each)
        for each in self.in_sight():
            if each.tree not in self.taken_in:
                self.take_in(each)
            self.document, self.origins = each, origins(each)
            self.share()
            for node in self.origins.lowered.nodes():
                self.pass_over(self.origins.lowered.code(node))

    def in_sight(self) -> Iterator[Document]:
        """The documents of the program; their number grows while they are looked at."""
        done = 0
        while done < len(self.documents):
            yield list(self.documents.values())[done]
            done += 1

    def take_in(self, document: Document) -> None:
        """Note what a file defines and calls, and take in what it imports."""
        self.taken_in[document.tree] = None
        self.note_calls(document.tree)
        for imported in document.imports:
            self.take_in_imported(imported, document)
        for part in defined_in(document.tree):
            if isinstance(part, FUNCTIONS):
                self.functions[part] = None
                if not isinstance(part, ast.Lambda):
                    self.functions_named.setdefault(part.name, []).append(part)
            if isinstance(part, ast.ClassDef):
                for method in part.body:
                    if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.methods.setdefault(method.name, []).append(method)
                        self.class_of[method] = part
                    elif isinstance(method, ast.Assign) and isinstance(method.value, ast.Name):  # `__radd__ = __add__`
                        for other in (m for m in part.body if getattr(m, "name", "") == method.value.id):
                            for target in method.targets:
                                self.methods.setdefault(getattr(target, "id", ""), []).append(other)  # type: ignore[arg-type]
                    elif isinstance(method, ast.Assign):
                        self.renamed.update(each.id for each in method.targets if isinstance(each, ast.Name) and each.id in HANDING)

    def take_in_imported(self, statement: ast.Import | ast.ImportFrom, document: Document) -> None:
        """Take in the modules that a statement imports, or out of which it imports something."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                self.module(alias.name, document)
            return
        package = "." * statement.level + (statement.module or "")
        if self.module(package, document) is None:
            for alias in statement.names:
                self.module(f"{package}.{alias.name}".replace("..", "."), document)

    def starred(self, name: str) -> Iterator[Cell]:
        """The global names of other modules that a name may be which nothing here binds: those that are imported by a star."""
        return (cell for cell in self.cells(self.document.tree, name) if cell.scope is not self.document.tree)

    def cells(self, tree: ast.AST, name: str) -> Iterator[Cell]:
        """The global names that a name of a module may be: its own, and those that come to it by a star."""
        file = self.program.files[tree]
        for each in with_starred(self.program, file) if is_public(name) else (file,):
            if name in self.names(each.tree):
                yield Cell(each.tree, name)

    def names(self, tree: ast.AST) -> Collection[str]:
        """The global names that a module binds, be it in functions."""
        return global_names(origins(self.documents[tree]).lowered.scopes.values())

    def note_calls(self, tree: ast.AST) -> None:
        """Note what is called, and what is only looked through, before the instructions are passed over."""
        for part in subtree(tree):
            if isinstance(part, ast.Call):
                self.called[part.func] = part
                self.only_read.update(keyword.value for keyword in part.keywords if keyword.arg is None)
                if isinstance(part.func, ast.Attribute) and part.func.attr in READS_MAPPING:
                    self.only_read.add(part.func.value)
            elif isinstance(part, ast.Dict):
                self.only_read.update(value for key, value in zip(part.keys, part.values) if key is None)

    def module(self, name: str, document: Document) -> Document | None:
        """The document that an import means; taken in where there is room."""
        file = self.program.module(name, self.program.files[document.tree])
        return self.documents[file.tree] if file is not None else None

    def shared(self, attribute: ast.Attribute) -> Cell | None:
        """The global name of one of the project's modules that `module.name` is; None for everything else."""
        for meaning in self.imported_as(attribute.value):
            cell = next(self.cells(meaning.tree, attribute.attr), None) if isinstance(meaning, Module) else None
            if cell is not None:
                return cell
        return None

    def imported_as(self, node: ast.expr) -> list[Meaning]:
        """What a name, or an attribute of one, may be that is nothing but imported; nothing for all others."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return []
        of = self.origins_of_file(root)
        reads = [each for each in of.of(root) if isinstance(each, ReadName)] if of is not None else []
        return self.meant_by(node) if reads and all(self.is_import(each.variable) for each in reads) else []

    def meant_by(self, node: ast.expr) -> list[Meaning]:
        """What the call graph says that an expression may be."""
        of = self.origins_of_file(node)
        if of is None:
            return []
        results = [each.result for each in of.of(node) if each.result is not None]
        return self.call_graph.meanings(of.code(node), results[-1]) if results else []

    def is_mapping(self, container: ast.expr) -> bool:
        meant = self.meant_by(container) if isinstance(container, (ast.Name, ast.Attribute)) else ()
        return bool(meant) and all(isinstance(each, Display) and each.built.kind is Built.DICT for each in meant)

    def run_in(self, node: ast.AST) -> set[str]:
        """The names of the special methods that a piece of code may run, also in functions that are defined in it."""
        special = {name for name in self.methods if name.startswith("__")}
        of = self.origins_of_file(node)
        if of is None:
            return special
        parts = [part for part in subtree(node) if isinstance(part, CODES)]
        placed = [(of.lowered.code(part), each) for part in parts for each in of.lowered.code(part).instructions()]
        placed += [(of.code(node), each) for each in of.within(node)] if node not in parts else []
        return special.intersection(
            name for code, each in placed for name in run_by(code, each)
        )

    def origins_of_file(self, node: ast.AST) -> Origins | None:
        """The instructions of the file in which a node stands, mostly the one that is looked at; None where it is in no file in sight."""
        if node in self.document.parents or node is self.document.tree:
            return self.origins
        return next((origins(each) for each in self.documents.values() if node in each.parents or node is each.tree), None)

    def is_import(self, variable: Variable) -> bool:
        """Whether a variable is only imported, be it by a star of any file."""
        file = self.program.home(variable.owner)
        if file.is_imported(variable):
            return True
        if variable.home is not Home.GLOBAL or file.binders(variable) or builtin_of(variable.name) is not None:
            return False
        starred = global_variable(self.call_graph.values, file, variable.name)
        if starred is not None:
            return self.program.home(starred.owner).is_imported(starred)
        return is_public(variable.name)

    def imported(self, alias: ast.alias, module: str) -> None:
        """`import a.b as c`: what a module defines is found by its names, where it is read."""

    def imported_from(self, alias: ast.alias, module: str) -> None:
        target = self.module(module, self.document)
        if target is not None:
            for cell in list(self.cells(target.tree, alias.name)) or [Cell(target.tree, alias.name)]:
                self.flow.add(cell, alias, Kind.SAME)
            return
        inner = self.module(f"{module}.{alias.name}".replace("..", "."), self.document) if module.strip(".") else None
        if inner is None and module:
            self.flow.opaque[alias] = alias
            if not module.startswith("."):
                self.library_names[alias] = f"{module}.{alias.name}"

    def dotted_in(self, node: ast.AST) -> bool:
        """Whether an attribute is a part of a library, in whatever file it stands."""
        return isinstance(node, (ast.Name, ast.Attribute)) and any(
            isinstance(each, Library) and not each.name.startswith(".") for each in self.imported_as(node)
        )

    def dotted(self, node: ast.AST) -> str | None:
        """The name of a library's function as the library spells it; None for everything else.

        Where it may be one of several, it is one of them only if the same is known of all.
        """
        if isinstance(node, ast.Name):
            meant = self.meant_by(node)  # also what it is another name for: `Tensor = torch.FloatTensor`
        else:
            meant = self.imported_as(node) if isinstance(node, ast.Attribute) else []
        names = [each.name for each in meant if isinstance(each, Library) and not each.name.startswith(".")]
        said = set(map(said_of, names))
        if not names or len(names) < len(meant) or len(set(names)) > 1 and (None in said or len(said) > 1):
            return None
        name = max(names)
        return None if isinstance(node, ast.Name) and name == node.id and "." not in name else name

    def is_of_library(self, node: ast.AST) -> bool:
        """Whether an expression is a module of a library, or something in one."""
        meant = self.meant_by(node) if isinstance(node, ast.Name) else self.imported_as(node) if isinstance(node, ast.Attribute) else []
        return bool(meant) and all(isinstance(each, Library) and not each.name.startswith(".") for each in meant)

    @cached_property
    def lookup(self) -> Lookup:
        """Finds methods in classes; to be asked once all code has been passed over."""
        return Lookup(self.call_graph, self.methods)

    def assign_field(self, name: str | None, value: Place) -> None:
        """An attribute is set, by a name that is known or not."""
        self.flow.add(value, Field(name) if name else ANY, Kind.SAME, crosses=True)

    def read_field(self, name: str | None, place: Place) -> None:
        if isinstance(name, str):
            self.flow.add(Field(name), place, Kind.SAME, crosses=True)
        else:
            self.reads_any.append(place)

    def spread_any_field(self) -> None:
        """What is set under names that are not known may be read under every name, and the other way round."""
        fields = [place for place in (*self.flow.edges, *self.flow.values) if isinstance(place, Field) and place != ANY]
        for field in dict.fromkeys(fields):
            if ANY in self.flow.made_of:
                self.flow.add(ANY, field, Kind.SAME, crosses=True)
            for place in self.reads_any:
                self.flow.add(field, place, Kind.SAME, crosses=True)
            for place in self.namespaces:
                self.flow.add(field, place, Kind.IN, field.name, crosses=True)

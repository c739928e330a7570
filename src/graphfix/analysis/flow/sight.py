"""All code that is in sight: a file and what it imports from its project, passed over once each."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.hierarchy import Hierarchy, Lookup
from graphfix.analysis.flow.instructions import Instructions
from graphfix.analysis.flow.places import Cell, Field, Kind, Place
from graphfix.ir.origins import origins
from graphfix.ir.variables import Scope
from graphfix.source.document import Document
from graphfix.source.subtree import kept_with_node, subtree

# a name of a module to its document, where it is one of the project's: asked with the document that imports it
Find = Callable[[str, Document], Document | None]
# how much of a project one analysis looks into: files, and characters of those that are imported
MAX_FILES = 40
MAX_LENGTH = 200_000
ANY = Field("*")
READS_MAPPING = frozenset(("items", "keys", "values", "get", "copy"))


class Written(NamedTuple):
    """What is written in a file, in whatever scope: what it defines, what it imports, and the names that it binds otherwise."""

    definitions: list[ast.AST]
    imports: list[ast.Import | ast.ImportFrom]
    bound: set[str]


@kept_with_node
def written_in(tree: ast.AST) -> Written:
    found = Written([], [], set())
    for part in subtree(tree):
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            found.imports.append(part)
        elif isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            found.bound.add(part.id)
        elif isinstance(part, ast.arg):
            found.bound.add(part.arg)
        elif isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            found.definitions.append(part)
            found.bound.update([] if isinstance(part, ast.Lambda) else [part.name])
    return found


def module_names(document: Document) -> dict[str, str]:
    """The names that may mean a module in the whole file, and how the module is imported."""
    found: dict[str, str] = {}
    written = written_in(document.tree)
    for part in written.imports:
        for alias in part.names:
            if isinstance(part, ast.Import):
                root = alias.name if alias.asname else alias.name.split(".")[0]
            else:
                root = f"{'.' * part.level}{part.module or ''}.{alias.name}".replace("..", ".")
            name = (alias.asname or alias.name).split(".")[0]
            found[name] = root if found.get(name, root) == root else ""
    return {name: module for name, module in found.items() if module and name not in written.bound}


def is_public(name: str) -> bool:
    """Whether `import *` takes a name, unless `__all__` says otherwise."""
    return not name.startswith("_") and name != "*"


def global_names(scopes: Iterable[Scope]) -> set[str]:
    """The global names that the scopes of a module bind."""
    return {name for scope in scopes for name in (scope.bound if scope.outer is None else scope.globals)}


class Sight(Instructions):
    """Passes over a document and the documents that it imports."""

    def __init__(self, find: Find) -> None:
        super().__init__(FlowGraph())
        self.find = find
        self.document: Document = None  # type: ignore[assignment]
        self.documents: dict[ast.AST, Document] = {}
        self.class_of: dict[ast.AST, ast.ClassDef] = {}
        self.functions: dict[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, None] = {}
        self.libraries: dict[ast.AST, dict[str, str]] = {}
        self.own_modules: dict[ast.AST, dict[str, str]] = {}
        self.stars: dict[ast.AST, list[Document]] = {}
        self.foreign_stars: dict[ast.AST, list[str]] = {}
        self.waiting: list[Document] = []
        self.length = 0
        self.meant: dict[tuple[ast.AST, str], Document | None] = {}
        self.classes: list[ast.ClassDef] = []

    def look_at(self, document: Document) -> None:
        """Pass over `document` and all that it imports, directly or not."""
        self.take_in(document)
        while self.waiting:
            current = self.waiting.pop(0)
            self.document, self.origins = current, origins(current)
            self.share()
            for node in self.origins.lowered.nodes():
                self.pass_over(self.origins.lowered.code(node))

    def take_in(self, document: Document) -> None:
        self.documents[document.tree] = document
        self.waiting.append(document)
        self.note_calls(document.tree)
        self.stars[document.tree] = self.star_imports(document)
        self.libraries[document.tree] = self.with_starred(document, self.libraries, self.external_names(document))
        self.own_modules[document.tree] = self.with_starred(document, self.own_modules, module_names(document))
        for part in written_in(document.tree).definitions:
            if isinstance(part, FUNCTIONS):
                self.functions[part] = None
                if not isinstance(part, ast.Lambda):
                    self.functions_named.setdefault(part.name, []).append(part)
            if isinstance(part, ast.ClassDef):
                self.classes.append(part)
                for method in part.body:
                    if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
                        self.methods.setdefault(method.name, []).append(method)
                        self.class_of[method] = part
                    elif isinstance(method, ast.Assign) and isinstance(method.value, ast.Name):  # `__radd__ = __add__`
                        for other in (m for m in part.body if getattr(m, "name", "") == method.value.id):
                            for target in method.targets:
                                self.methods.setdefault(getattr(target, "id", ""), []).append(other)  # type: ignore[arg-type]

    def star_imports(self, document: Document) -> list[Document]:
        """The project's modules that a document imports all names of; those of libraries are noted."""
        found: list[Document] = []
        foreign = self.foreign_stars[document.tree] = []
        for part in written_in(document.tree).imports:
            if isinstance(part, ast.ImportFrom) and any(alias.name == "*" for alias in part.names):
                name = f"{'.' * part.level}{part.module or ''}"
                target = self.module(name, document)
                if target is not None:
                    found.append(target)
                else:
                    foreign.append(name.lstrip("."))
        return found

    def with_starred(self, document: Document, known: dict[ast.AST, dict[str, str]], own: dict[str, str]) -> dict[str, str]:
        """The modules that names mean in a document, with those of the modules that it imports all names of, as far as these are known."""
        bound = written_in(document.tree).bound
        meant = {
            name: module
            for target in self.stars[document.tree]
            for name, module in known.get(target.tree, {}).items()
            if is_public(name) and name not in bound and not module.startswith(".")
        }
        return {**meant, **own}

    def starred(self, name: str) -> Iterator[Cell]:
        """The global names of other modules that a name may be which nothing here binds: those that are imported by a star."""
        for tree in self.star_modules() if is_public(name) else ():
            if tree is not self.document.tree and name in self.names(tree):
                yield Cell(tree, name)

    def star_modules(self) -> list[ast.AST]:
        """The module that is looked at, and those of the project all names of which come to it by a star."""
        found: dict[ast.AST, None] = {}
        pending: list[ast.AST] = [self.document.tree]
        while pending:
            tree = pending.pop()
            if tree not in found:
                found[tree] = None
                pending.extend(target.tree for target in self.stars.get(tree, ()))
        return list(found)

    def of_foreign_star(self, name: ast.Name) -> str:
        """How a library spells a name that nothing in sight binds and a star may bring; of several libraries nobody knows which it is."""
        if not is_public(name.id) or hasattr(builtins, name.id) or not self.is_unbound(name):
            return ""
        foreign = [library for tree in self.star_modules() for library in self.foreign_stars.get(tree, ())]
        return f"{'|'.join(foreign)}.{name.id}" if foreign else ""

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

    def external_names(self, document: Document) -> dict[str, str]:
        """The names that mean a library, or a part of one, in the whole file."""
        found: dict[str, str] = {}
        written = written_in(document.tree)
        for part in written.imports:
            if isinstance(part, ast.Import):
                for alias in part.names:
                    root = alias.name if alias.asname else alias.name.split(".")[0]
                    if self.module(alias.name, document) is None:
                        found[alias.asname or root] = root
            elif not part.level and self.module(part.module or "", document) is None:
                found.update({alias.asname or alias.name: f"{part.module}.{alias.name}" for alias in part.names})
        return {name: dotted for name, dotted in found.items() if name not in written.bound}

    def module(self, name: str, document: Document) -> Document | None:
        """The document that an import means; taken in where there is room."""
        if (document.tree, name) not in self.meant:
            self.meant[document.tree, name] = self.find(name, document) if name else None
        target = self.meant[document.tree, name]
        if target is None:
            return None
        if target.tree not in self.documents:
            if len(self.documents) >= MAX_FILES or self.length + len(target.text) > MAX_LENGTH:
                return None
            self.length += len(target.text)
            self.take_in(target)
        return target

    def shared(self, attribute: ast.Attribute) -> Cell | None:
        """The global name of one of the project's modules that `module.name` is; None for everything else."""
        target = self.module_at(attribute.value)
        if target is None or attribute.attr not in self.names(target.tree):
            return None
        return Cell(target.tree, attribute.attr)

    def module_at(self, node: ast.expr) -> Document | None:
        """The project's module that an expression means."""
        path = self.module_path(node)
        target = self.module(path, self.document) if path else None
        package, _, name = path.rpartition(".")
        holder = self.module(package, self.document) if target is not None and package.strip(".") else None
        if holder is not None and name in self.names(holder.tree):
            return None  # the package may have something else of this name
        return target

    def module_path(self, node: ast.expr) -> str:
        """The name by which a document imports the module that `a.b` would be, if `a` is one; empty where it is none."""
        if isinstance(node, ast.Name):
            return self.own_modules[self.document.tree].get(node.id, "")
        base = self.module_path(node.value) if isinstance(node, ast.Attribute) else ""
        return base and f"{base}.{node.attr}"  # type: ignore[attr-defined]

    def imported(self, alias: ast.alias, module: str) -> None:
        """`import a.b as c`: what a module defines is found by its names, where it is read."""

    def imported_from(self, alias: ast.alias, module: str) -> None:
        target = self.module(module, self.document)
        if target is not None:
            self.flow.add(Cell(target.tree, alias.name), alias, Kind.SAME)
            return
        inner = self.module(f"{module}.{alias.name}".replace("..", "."), self.document) if module.strip(".") else None
        if inner is None and module:
            self.flow.opaque[alias] = alias

    def dotted_in(self, node: ast.AST) -> bool:
        """Whether an attribute is a part of a library, in whatever file it stands."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and any(node.id in names for names in self.libraries.values())

    def dotted(self, node: ast.AST) -> str | None:
        """The name of a library's function as the library spells it; None for everything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        root = self.libraries[self.document.tree].get(node.id) or self.of_foreign_star(node) or None
        if root is None or not parts and root == node.id and "." not in root:
            return None
        return ".".join([root, *reversed(parts)])

    @cached_property
    def lookup(self) -> Lookup:
        """Finds methods in classes; to be asked once all code has been passed over."""
        return Lookup(Hierarchy(self.classes), self.methods, self.class_of)

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

"""The files of one program: that which runs begin in, and those that they come to. Each question about a node is its own file's to answer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from graphfix.model import Span
from graphfix.source.document import Document


class Program:
    """The files that an analysis speaks of.

    `main`: that in which runs begin; spans of another file carry its path. `others`: gives the further files, asked once when the first node
    is met that does not stand in `main`.
    """

    def __init__(self, main: Document, others: Callable[[], Iterable[Document]] = tuple) -> None:
        self.main = main
        self._others = others
        self._files: list[Document] | None = None
        self._file_of: dict[ast.AST, Document | None] = {}

    @property
    def files(self) -> list[Document]:
        """All files, `main` first."""
        if self._files is None:
            by_tree = {id(each.tree): each for each in (*self._others(), self.main)}
            others = sorted((each for each in by_tree.values() if each is not self.main), key=lambda each: each.path)
            self._files = [self.main, *others]
        return self._files

    def holds(self, node: ast.AST) -> bool:
        """Whether `node` stands in a file of the program."""
        return self._found(node) is not None

    def file_of(self, node: ast.AST) -> Document:
        """The file in which `node` stands; raises KeyError where it stands in none."""
        found = self._found(node)
        if found is None:
            raise KeyError(node)
        return found

    def _found(self, node: ast.AST) -> Document | None:
        if node in self.main.parents:
            return self.main
        if node not in self._file_of:
            self._file_of[node] = next((each for each in self.files if node in each.parents or node is each.tree), None)
        return self._file_of[node]

    def named(self, path: str) -> Document:
        """The file at `path`, or `main` where it is empty; raises KeyError where the program has no such file."""
        found = next((each for each in self.files if each.path == path), None) if path else self.main
        if found is None:
            raise KeyError(path)
        return found

    def placed(self, path: str, span: Span) -> Span:
        """A span in the file at `path`, as `span` gives it."""
        return span if path == self.main.path else Span(span.start, span.end, path)

    def is_main(self, node: ast.AST) -> bool:
        """Whether `node` stands in the file that runs begin in."""
        return node in self.main.parents or node is self.main.tree

    def span(self, node: ast.AST) -> Span:
        """Where a node stands, with its path where it is not in `main`."""
        document = self.file_of(node)
        span = document.span(node)
        return span if document is self.main else Span(span.start, span.end, document.path)

    def lying_at(self, span: Span) -> list[ast.stmt | ast.expr]:
        """The statements and expressions that lie exactly at a span, the outer ones first."""
        files = [each for each in self.files if each.path == span.path] if span.path else [self.main]
        return [node for each in files for node in each.lying_at.get(Span(span.start, span.end), [])]

    def source(self, node: ast.AST) -> str:
        """The text of `node` as it stands in its file."""
        return self.file_of(node).source(node)

    def name_at(self, target: ast.AST, place: ast.AST) -> str:
        """How `target` is called at `place`: in another file, `self.x` is the `x` of its class."""
        text = ast.unparse(target)
        first, _, rest = text.partition(".")
        owner = self.enclosing(target, (ast.ClassDef,))
        if self._found(target) is self._found(place) or first != "self" or not isinstance(owner, ast.ClassDef):
            return text
        return f"{owner.name}.{rest}"

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that `node` stands in; None of a whole file, and of what stands in no file of the program."""
        found = self._found(node)
        return found.parents.get(node) if found is not None else None

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that `statement` is one of."""
        return self.file_of(statement).block_of(statement)

    def enclosing(self, node: ast.AST, kinds: tuple[type, ...]) -> ast.AST | None:
        """The closest node around `node` that is one of `kinds`."""
        found = self._found(node)
        return found.enclosing(node, kinds) if found is not None else None

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds `node`."""
        return self.file_of(node).statement_of(node)

    def tree_of(self, node: ast.AST) -> ast.Module:
        """The tree of the file in which `node` stands."""
        return self.file_of(node).tree

    def is_first(self, one: ast.AST, two: ast.AST) -> bool:
        """Whether `one` stands in front of `two`, in the same file."""
        return self._found(one) is self._found(two) and getattr(one, "lineno", 0) < getattr(two, "lineno", 0)

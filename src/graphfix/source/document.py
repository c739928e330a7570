"""A parsed file: the one index of its tree, byte positions, lines, and what stands around each statement."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator
from functools import cached_property

from graphfix.model import Span
from graphfix.source.guard import parse_own
from graphfix.source.lines import LineIndex
from graphfix.source.subtree import children, subtree

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Document:
    """`text` parsed; `SourceError` where it does not parse.

    `name` is the dotted name under which the project imports it; `tree`: that of the text, where it is there already; `same`: the same file
    under another name, which has the tree and all that goes by it.
    """

    def __init__(
        self, path: str, text: str, name: str = "__main__", *, tree: ast.Module | None = None, same: Document | None = None
    ) -> None:
        self.path = path
        self.text = text
        self.name = name
        self.first: Document = same if same is not None else self
        tree = same.tree if same is not None else tree
        self.tree = tree if tree is not None else parse_own(path, text)

    @cached_property
    def data(self) -> bytes:
        """The text in UTF-8, in which positions are counted."""
        return self.text.encode("utf-8", "surrogatepass")

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)

    def span(self, node: ast.AST) -> Span:
        """Byte range of `node`; a decorated definition starts at its `def`."""
        starts = self.lines.starts
        return Span(starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)

    @cached_property
    def lying_at(self) -> dict[Span, list[ast.stmt | ast.expr]]:
        """The statements and expressions that lie exactly at each span, the outer ones first."""
        found: dict[Span, list[ast.stmt | ast.expr]] = {}
        for node in subtree(self.tree):
            if isinstance(node, (ast.stmt, ast.expr)):
                found.setdefault(self.span(node), []).append(node)
        return found

    def source(self, node: ast.AST) -> str:
        """The text of `node` as it stands in the file."""
        span = self.span(node)
        return self.data[span.start : span.end].decode("utf-8", "surrogatepass")

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that each node stands in."""
        if self.first is not self:
            return self.first.parents
        return {child: parent for parent in subtree(self.tree) for child in children(parent)}

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The statements that import something, wherever they stand."""
        return [part for part in subtree(self.tree) if isinstance(part, (ast.Import, ast.ImportFrom))]

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name that the file spells, whatever it stands for."""
        found: set[str] = set()
        for node in subtree(self.tree):
            for _, value in ast.iter_fields(node):
                parts = value if isinstance(value, list) else [value]
                found.update(part for part in parts if isinstance(part, str))
        return frozenset(word for text in found for word in text.split("."))

    def spelling(self, words: Collection[str]) -> ast.AST | None:
        """The first place that spells one of these names; None where there is none."""
        for node in subtree(self.tree):
            for _, value in ast.iter_fields(node):
                parts = value if isinstance(value, list) else [value]
                if hasattr(node, "lineno") and any(
                    isinstance(part, str) and not set(part.split(".")).isdisjoint(words) for part in parts
                ):
                    return node
        return None

    def fresh(self, *wanted: str) -> str:
        """The first of the `wanted` names that means nothing in the file; the first with a number where all of them do."""
        numbered = (f"{wanted[0]}{number}" for number in itertools.count(2))
        return next(name for name in itertools.chain(wanted, numbered) if name not in self.words)

    @cached_property
    def blocks(self) -> dict[ast.stmt, list[ast.stmt]]:
        """The list of statements that each statement is one of."""
        lists = (value for parent in subtree(self.tree) for _, value in ast.iter_fields(parent) if isinstance(value, list))
        return {child: block for block in lists for child in block if isinstance(child, ast.stmt)}

    def imported_as(self, library: str) -> str | None:
        """The name that the file gives to a library where it imports it, of those that nothing else in the file gets."""
        imports = [part for part in sure_statements(self.tree.body) if isinstance(part, ast.Import)]
        names = [alias.asname or library for part in imports for alias in part.names if alias.name == library]
        names += [
            library for part in imports for alias in part.names if alias.name.startswith(f"{library}.") and not alias.asname
        ]
        return next((name for name in names if name not in self.rebound), None)

    def importable(self, library: str) -> ast.stmt | None:
        """Where an import of a library can go: before the first of its parts that are imported, or before all other imports.

        None where the file imports nothing, or gives the name to something else.
        """
        taken = {alias.asname or alias.name.split(".")[0] for part in self.imports for alias in part.names}
        if library in self.rebound | taken | {part.name for part in subtree(self.tree) if isinstance(part, DEFINITIONS)}:
            return None
        imports = [
            part
            for part in self.tree.body
            if modules_of(part) - {"__future__"} or isinstance(part, ast.ImportFrom) and part.level
        ]
        return next((part for part in imports if library in modules_of(part)), next(iter(imports), None))

    def imports_part_of(self, library: str) -> bool:
        """Whether the file itself imports something of a library."""
        return any(library in modules_of(part) for part in self.imports)

    @cached_property
    def torch(self) -> str | None:
        """The name by which the file knows torch, or can; None where there is none."""
        return self.imported_as("torch") or ("torch" if self.importable("torch") is not None else None)

    @cached_property
    def rebound(self) -> set[str]:
        """The names that something other than an import, a function or a class gets."""
        bound = {part.id for part in subtree(self.tree) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        return bound | {part.arg for part in subtree(self.tree) if isinstance(part, ast.arg)}

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that `statement` is one of."""
        return self.blocks[statement]

    def enclosing(self, node: ast.AST, kinds: tuple[type, ...]) -> ast.AST | None:
        """The closest node around `node` that is one of `kinds`."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, kinds):
            above = self.parents.get(above)
        return above

    def statement_of(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds `node`."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node


def sure_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that have run where what stands behind `body` runs, as far as no condition decides.

    Those of a `with`, and of a `try` whose handlers all leave: where torch is missing, the file ends there.
    """
    for statement in body:
        yield statement
        if isinstance(statement, ast.With) or isinstance(statement, ast.Try) and all(map(ends, statement.handlers)):
            yield from sure_statements(statement.body)


def ends(handler: ast.ExceptHandler) -> bool:
    """Whether a handler raises, or ends the program."""
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("sys.exit", "exit", "quit", "os._exit")
    return isinstance(last, ast.Raise)


def files_named(statement: ast.stmt) -> list[str]:
    """The modules that an import statement surely runs, as they are written, with their leading dots."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return ["." * statement.level + (statement.module or "")] if isinstance(statement, ast.ImportFrom) else []


def modules_of(statement: ast.stmt) -> set[str]:
    """The outermost packages that an import statement imports from."""
    if isinstance(statement, ast.Import):
        return {alias.name.split(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        return {(statement.module or "").split(".")[0]}
    return set()

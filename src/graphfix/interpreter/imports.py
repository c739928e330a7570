"""Which file of the project an import means, and its definitions."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.interpreter import MAX_STEPS, Interpreter, OutOfSteps, Stop
from graphfix.interpreter.snapshot import Snapshot
from graphfix.interpreter.values import Project, Value
from graphfix.source.decode import read
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER, Finder
from graphfix.source.reads import note_read
from graphfix.source.subtree import subtree

MAX_MODULES = 60
MAX_BYTES = 600_000
NOTHING: Mapping[Path, Document] = MappingProxyType({})


class Importer(Finder):
    """Resolves imports of one analysis. `roots`: folders that the project may be imported from; nothing is executed for real.

    `given`: the documents that stand for files, by their real paths, instead of what these say now.
    """

    def __init__(self, path: Path, roots: tuple[Path, ...], given: Mapping[Path, Document] = NOTHING) -> None:
        super().__init__(path, roots)
        self.given = given
        self.documents: dict[ast.AST, Document] = {}
        self._files: dict[Path, Document | None] = {}
        self.loaded: dict[Path, Project | None] = {}
        self.bytes = 0
        self.running: Interpreter | None = None
        self._snapshots: list[Snapshot] = []

    def __call__(self, m: Interpreter, name: str, env: Env) -> Value | None:
        if name.split(".")[0] in NEVER:
            return None
        found = self.find(name, Path(env.top().document.path))
        # a name may wait to be resolved since an earlier run
        return self.load(self.running or m, found, name) if found is not None else None

    def load(self, m: Interpreter, path: Path, name: str) -> Project | None:
        if path in self.loaded:
            return self.loaded[path]
        self.loaded[path] = None
        if len(self.loaded) > MAX_MODULES or self.bytes > MAX_BYTES:
            return None
        document = self.document_at(path, name)
        if document is None:
            return None
        self.documents.setdefault(document.tree, document)
        self.bytes += len(document.text)
        env = Env(document)
        project = Project(env, name)
        self.loaded[path] = project
        mode, m.grad_enabled = (
            m.grad_enabled,
            True,
        )  # modules are read late, when they are first used: not in the mode of that place
        define(m, env, document.tree.body)
        m.grad_enabled = mode
        self._snapshots.append(Snapshot(env))
        return project

    def begin(self, m: Interpreter) -> None:
        """A new run: what the ones before have left in modules is gone, with the modules where they hold too much to be kept."""
        if not self.keeps_all:
            self.loaded.clear()
            self._snapshots.clear()
            self.bytes = 0
        for snapshot in self._snapshots:
            snapshot.restore()
        m.has_graphs = any(snapshot.holds_graphs for snapshot in self._snapshots)
        self.running = m

    def let_go(self) -> None:
        """End the analysis: a module and its functions hold one another."""
        for module in self.loaded.values():
            if module is not None:
                module.env.let_go()
        self.loaded.clear()
        self._snapshots.clear()
        self.running = None

    @property
    def keeps_all(self) -> bool:
        """Whether every module that was read is there for the next run as it was."""
        return not any(snapshot.partial for snapshot in self._snapshots)

    def document_at(self, path: Path, name: str) -> Document | None:
        """The document of the file at `path`, which is imported as `name`; None where it cannot be read.

        One for each file, whoever asks for it and however it is named: what is known of a node is known by the tree that it stands in.
        """
        real = Path(os.path.realpath(path))
        if real not in self._files:
            self._files[real] = self.given.get(real) or parsed(path, name)
        elif real not in self.given:
            note_read(path)
        return self._files[real]


def parsed(path: Path, name: str) -> Document | None:
    """A module of the project, or None where it cannot be read."""
    note_read(path)
    return known_document(path, name)


def main_document(path: Path, text: str) -> Document:
    """The file at `path` with this text as the one with which a program begins: the known one, if that is its text."""
    known = known_document(path, "__main__")
    return known if known is not None and known.text == text else Document(str(path), text)


@functools.lru_cache(maxsize=400)
def known_document(path: Path, name: str) -> Document | None:
    """The same; read once for all files that are analysed."""
    known = known_file(path)
    return Document(str(path), known.text, name, same=known) if known is not None else None


@functools.lru_cache(maxsize=400)
def known_file(path: Path) -> Document | None:
    """A file of the project, parsed once whatever it is imported as, or None where it cannot be read."""
    try:
        return Document(str(path), read(path).text, path.stem)
    except (SourceError, OSError):
        return None


DEFINING = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.Try,
    ast.If,
)


def define(m: Interpreter, env: Env, body: list[ast.stmt]) -> None:
    """Execute what a module defines: no loops, no calls for their effect, not the part for running as a script."""
    frames, context, steps, most, corrections = m.frames, m.context, m.steps, m.most, m.corrections
    m.corrections = 0  # what is half defined would stay so for the runs to come
    m.most = MAX_STEPS  # as it would where a decorator asks for it
    frame = Frame(env, ast.Module([], []), (), (), 0)
    m.frames, m.context = [frame], ()
    try:
        for statement in body:
            if (isinstance(statement, DEFINING) or sets_mode(statement)) and not is_main_guard(statement):
                try:
                    m.execute([statement])
                except Stop:
                    continue
    except (OutOfSteps, RecursionError):
        pass  # what was defined until then stands
    finally:
        m.frames, m.context, m.steps, m.most, m.corrections = frames, context, steps, most, corrections


def sets_mode(statement: ast.stmt) -> bool:
    """Whether a module switches recording off, or on, for all that runs after it is imported."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return "set_grad_enabled" in (getattr(function, "attr", ""), getattr(function, "id", ""))


def is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in subtree(statement.test)
    )

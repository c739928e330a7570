"""The files of one program: one file, and the files of its project that it imports, each lowered as far as it is asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from graphfix.ir.lowering import Lowered
from graphfix.ir.variables import Home, Variable
from graphfix.source.decode import decode
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER, Finder
from graphfix.source.reading import read_bytes

# as far as the simulation looks, too
MAX_FILES = 60
MAX_LENGTH = 600_000


class File:
    """A file of a program. `stars`: the files of the project of which it imports all names."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.path = Path(document.path)
        self.tree = document.tree
        self.lowered = Lowered(document.tree)
        self.stars: list[File] = []
        self.star_libraries: list[str] = []
        self.imports = [node for node in ast.walk(document.tree) if isinstance(node, (ast.Import, ast.ImportFrom))]

    def binds(self, name: str) -> bool:
        return name in self.lowered.scopes[self.tree].bound

    def variable(self, name: str) -> Variable:
        return self.lowered.scopes[self.tree].of_own(name)


class Files:
    """Reads the files of a project: once, for all programs that share them."""

    def __init__(self) -> None:
        self._read: dict[Path, File | None] = {}

    def at(self, path: Path) -> File | None:
        if path not in self._read:
            self._read[path] = self._file(path)
        return self._read[path]

    def _file(self, path: Path) -> File | None:
        try:
            return File(Document(str(path), decode(path, read_bytes(path)).text))
        except (SourceError, OSError, RecursionError):
            return None


class Sight:
    """All files of the program that begins in `main`."""

    def __init__(self, main: File, roots: tuple[Path, ...], files: Files) -> None:
        self.main = main
        self.finder = Finder(main.path, roots)
        self.files = files
        self.known: dict[ast.AST, File] = {main.tree: main}
        self.missing = False  # a file was left out for want of room
        self._length = 0
        pending = [main]
        while pending:
            pending += self._imported(pending.pop())

    def _imported(self, file: File) -> Iterator[File]:
        for node in file.imports:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                base = "." * node.level + (node.module or "")
                names = [
                    base,
                    *(
                        f"{base}.{alias.name}".replace("..", ".") if node.module else f"{base}{alias.name}"
                        for alias in node.names
                    ),
                ]
            before = set(self.known)
            for name in names:
                self.find(name, file)
            yield from (self.known[tree] for tree in self.known.keys() - before)
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                target = self.find(names[0], file)
                if target is not None:
                    file.stars.append(target)
                else:
                    file.star_libraries.append(names[0])

    def find(self, name: str, file: File) -> File | None:
        """The file of the project that a dotted name means in another one."""
        if not name.strip(".") and not name or name.split(".")[0] in NEVER:
            return None
        path = self.finder.find(name, file.path)
        found = self.files.at(path) if path is not None else None
        if found is None:
            return None
        if found.tree not in self.known:
            if len(self.known) >= MAX_FILES or self._length + len(found.document.text) > MAX_LENGTH:
                self.missing = True
                return None
            self._length += len(found.document.text)
            self.known[found.tree] = found
        return found

    def owner(self, variable: Variable, file: File) -> tuple[File, Variable]:
        """Where a global name of a file is bound: there, or in a file of which all names are imported."""
        if variable.home is Home.GLOBAL and not file.binds(variable.name):
            seen, pending = set(), list(file.stars)
            while pending:
                star = pending.pop()
                if star.tree in seen:
                    continue
                seen.add(star.tree)
                if star.binds(variable.name):
                    return star, star.variable(variable.name)
                pending += star.stars
        return file, variable

"""Which files of the project others import: a model's fault shows where its loss goes backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix.interpreter.imports import NEVER, Importer
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.guard import parse


def imported_files(files: Sequence[Path], roots: tuple[Path, ...]) -> list[Path]:
    """The files of the project that `files` import, in the order of their imports."""
    found: dict[Path, None] = {}
    for path in files:
        importer = Importer(path, roots)
        for name in _names(path):
            if name.split(".")[0] not in NEVER:
                target = importer.find(name, path)
                if target is not None:
                    found.setdefault(target)
    return list(found)


def _names(path: Path) -> Iterator[str]:
    """The modules that a file names in its imports; what a package is asked for may be a module, too."""
    try:
        tree = parse(read(path).text)
    except SourceError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if name.strip("."):
                yield name
            yield from (name + ("" if name.endswith(".") or not name else ".") + alias.name for alias in node.names)

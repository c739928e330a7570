"""Which files of the project others import: a model's fault shows where its loss goes backward."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix.interpreter.imports import Importer
from graphfix.project.importers import programs_below, spells
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER
from graphfix.source.guard import parse
from graphfix.source.subtree import subtree


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


def files_with_modules(roots: tuple[Path, ...]) -> list[Path]:
    """The files of the projects that may define a module, as far as their bytes tell."""
    here = Path(os.path.realpath(Path.cwd()))
    found = (path for root in roots for path, _ in programs_below(Path(os.path.realpath(root))) or ())
    programs = (path.relative_to(here) if path.is_relative_to(here) else path for path in found)
    return [path for path in programs if path.suffix == ".py" and spells(path, ("nn.Module",)) and spells(path, ("def forward",))]


def _names(path: Path) -> Iterator[str]:
    """The modules that a file names in its imports; what a package is asked for may be a module, too."""
    try:
        tree = parse(read(path).text)
    except SourceError:
        return
    for node in subtree(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            if name.strip("."):
                yield name
            yield from (name + ("" if name.endswith(".") or not name else ".") + alias.name for alias in node.names)

"""By which words graphs may come into code, over the files of a project that it imports: seen without running anything."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from graphfix.analysis.call_graph import CallGraph
from graphfix.interpreter.imports import NEVER, Importer, parsed
from graphfix.models.words import BRINGING, INDEXED
from graphfix.source.decode import read_bytes
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.reads import note_read
from graphfix.source.subtree import subtree

# how many calls away from a word that brings a graph it is looked for: what lies further is met by the usual runs, or not at all
STEPS = 2
# the same in bytes: a file that holds none of them brings nothing
_PARTS = re.compile(rb"\b(?:%s)\b" % "|".join(sorted({each.strip("().=:") for each in BRINGING})).encode())


def bringing_words(graph: CallGraph, document: Document, roots: tuple[Path, ...], walking: frozenset[str]) -> frozenset[str]:
    """The words by which a graph may come into the code of a file; `graph`: that of the file; `walking`: further functions that walk."""
    wanted = BRINGING | {INDEXED} | walking | _imported(document.tree, Path(document.path), roots)
    leading = graph.leading_to(wanted, STEPS, through_variables=True)
    return wanted.union(*(graph.names_of(part) for part in leading))


def _imported(tree: ast.Module, path: Path, roots: tuple[Path, ...]) -> set[str]:
    """The words by which graphs may come out of the files that a file imports."""
    found: set[str] = set()
    importer = Importer(path, roots)
    for name, module, member in imported_names(tree):
        target = importer.find(module, path) if module.strip(".").split(".")[0] not in NEVER else None
        if target is None or target == path:
            continue
        note_read(target)
        words = offered(target)
        if member is None or member == "*":
            found |= words
        elif member in words:
            found.add(name)
    return found


@functools.lru_cache(maxsize=4_000)
def offered(path: Path) -> frozenset[str]:
    """The names in the file at `path` by which it brings a graph to those who import it."""
    try:
        spells = _PARTS.search(read_bytes(path)) is not None
    except SourceError:
        spells = False
    document = parsed(path, path.stem) if spells else None
    if document is None:
        return frozenset()
    graph = CallGraph(document.tree)
    return frozenset(graph.offered(graph.leading_to(BRINGING, STEPS - 1, through_variables=True)))


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str, str | None]]:
    """Each name that a file imports, with the module, and the member of it that the name means; None where it means the module."""
    for part in subtree(tree):
        if isinstance(part, ast.Import):
            for alias in part.names:
                yield alias.asname or alias.name.split(".")[0], alias.name, None
        elif isinstance(part, ast.ImportFrom):
            package = "." * part.level + (part.module or "")
            for alias in part.names:
                yield alias.asname or alias.name, package, alias.name
                yield alias.asname or alias.name, f"{package}{'' if package.endswith('.') else '.'}{alias.name}", None

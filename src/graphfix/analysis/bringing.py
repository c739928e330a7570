"""By which words graphs may come into code, over the files of a project that it imports: seen without running anything."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from graphfix.analysis.call_graph import CallGraph
from graphfix.interpreter.imports import Importer, parsed
from graphfix.models.words import BRINGING, INDEXED, NETWORKS
from graphfix.source.decode import read_bytes
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER
from graphfix.source.reads import note_read

# how many calls away from a word that brings a graph it is looked for: what lies further is met by the usual runs, or not at all
STEPS = 2
# parts of torch.nn that are given tensors: https://pytorch.org/docs/stable/nn.html
NO_LAYERS = frozenset(("functional", "init", "utils"))
Import = ast.Import | ast.ImportFrom
# the same in bytes: a file that holds none of them brings nothing
_PARTS = re.compile(
    rb"\b(?:%s|torchvision|timm|transformers)\b" % "|".join(sorted({each.strip("().=:") for each in BRINGING})).encode()
)


def bringing_words(
    graph: CallGraph, walking: frozenset[str], imported: frozenset[str] = frozenset(), brings: frozenset[str] = BRINGING
) -> frozenset[str]:
    """The words by which a graph may come into the code of a file; `graph`: that of the file; `walking`: further functions that walk.

    `imported`: the words by which graphs come out of the files that it imports; without any, it is what the file alone may bring.
    `brings`: what is known to.
    """
    wanted = brings | {INDEXED} | walking | imported | layers(graph.imports)
    leading = graph.leading_to(wanted, STEPS, through_variables=True)
    return wanted.union(*(graph.names_of(part) for part in leading))


class ImportedWords:
    """The words by which something comes out of the files that a file imports, each of which is read when a word of it is asked for.

    `offering`: gives the names by which a file brings it; without any, graphs.
    """

    def __init__(
        self,
        imports: Iterable[Import],
        path: Path,
        roots: tuple[Path, ...],
        offering: Callable[[Path], frozenset[str]] | None = None,
    ) -> None:
        self.path = path
        self.offering = offering or offered
        self.importer = Importer(path, roots)
        self.by_name: dict[str, list[tuple[str, str | None]]] = {}
        for name, module, member in imported_names(imports):
            self.by_name.setdefault(name, []).append((module, member))
        self._words: dict[str, frozenset[str]] = {}

    def words(self, spelled: Iterable[str]) -> frozenset[str]:
        """Those that come with the imports that are `spelled`, in any form."""
        names = {each.strip(".:()") for each in spelled} & self.by_name.keys()
        return frozenset().union(*(self._words_of(name) for name in (*names, *({"*"} & self.by_name.keys()))))

    def _words_of(self, name: str) -> frozenset[str]:
        if name not in self._words:
            self._words[name] = frozenset().union(*(self._brought(name, *meant) for meant in self.by_name[name]))
        return self._words[name]

    def _brought(self, name: str, module: str, member: str | None) -> frozenset[str]:
        target = self.importer.find(module, self.path) if module.strip(".").split(".")[0] not in NEVER else None
        if target is None or target == self.path:
            return frozenset()
        note_read(target)
        words = self.offering(target)
        if member is None or member == "*":
            return words
        return frozenset((name,)) if member in words else frozenset()


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
    return frozenset(graph.offered(graph.leading_to(BRINGING | layers(graph.imports), STEPS - 1, through_variables=True)))


def layers(imports: Iterable[Import]) -> frozenset[str]:
    """The names that the statements give to `torch.nn`, to what they take out of it that makes modules, and to what builds networks."""
    names = ((name, f"{module}.{member}" if member else module) for name, module, member in imported_names(imports))
    found = set()
    for name, path in names:
        parts = path.split(".")
        if parts[:2] == ["torch", "nn"] and name != "torch" and NO_LAYERS.isdisjoint(parts):
            found.add(name)
        elif parts[0] == "torchvision" and name == "torchvision":
            found.add(":models")
        elif NETWORKS.fullmatch(path):
            found.add(name)
    return frozenset(found)


def imported_names(imports: Iterable[Import]) -> Iterator[tuple[str, str, str | None]]:
    """Each name that the statements import, with the module, and the member of it that the name means; None where it means the module."""
    for part in imports:
        if isinstance(part, ast.Import):
            for alias in part.names:
                yield alias.asname or alias.name.split(".")[0], alias.name, None
            continue
        package = "." * part.level + (part.module or "")
        for alias in part.names:
            yield alias.asname or alias.name, package, alias.name
            yield alias.asname or alias.name, f"{package}{'' if package.endswith('.') else '.'}{alias.name}", None

"""By which names of other files a file comes to a backward pass, or to a read out of a graph: seen without running anything."""

from __future__ import annotations

import enum
import functools
from pathlib import Path

from graphfix.analysis.bringing import ImportedWords
from graphfix.analysis.call_graph import CallGraph
from graphfix.interpreter.imports import parsed
from graphfix.models.words import CALLED_WALKS, CLEARS, INDEXED, SPELLED_READS, WALKED_BY_TRAINER
from graphfix.project.leading import MAX_FILES_AWAY, leading
from graphfix.source.reads import note_read

# how many calls away from it, in each file
STEPS = 3


class Aim(enum.Enum):
    """What code may come to."""

    WALK = CALLED_WALKS | WALKED_BY_TRAINER | {CLEARS}
    READ = SPELLED_READS | {INDEXED}


def imported(graph: CallGraph, path: Path, roots: tuple[Path, ...], aim: Aim) -> frozenset[str]:
    """The imported names by which the file at `path`, of which `graph` is, comes to `aim` in another file."""
    return ImportedWords(graph.imports, path, roots, lambda target: offering(target, roots, aim)).words(graph.spelled)


def offering(path: Path, roots: tuple[Path, ...], aim: Aim) -> frozenset[str]:
    """The names in the file at `path` by which those who import it come to `aim`, there or in the files that it imports."""
    names, files = _offering(path, roots, aim, MAX_FILES_AWAY)
    for each in files:  # also where it was found out before
        note_read(each)
    return names


def forget() -> None:
    """Read all files anew from now on."""
    _offering.cache_clear()
    leading.cache_clear()


@functools.lru_cache(maxsize=8_000)
def _offering(path: Path, roots: tuple[Path, ...], aim: Aim, left: int) -> tuple[frozenset[str], frozenset[Path]]:
    """The names that a file offers, with the files that this goes by; it is followed `left` files further."""
    leads, files = leading(path, roots, max(left, 0))
    document = parsed(path, path.stem) if leads and left >= 0 else None
    if document is None:
        return frozenset(), files
    graph = CallGraph(document.tree)
    read = set(files)

    def further(target: Path) -> frozenset[str]:
        names, more = _offering(target, roots, aim, left - 1)
        read.update(more)
        return names

    words = aim.value | ImportedWords(graph.imports, path, roots, further).words(graph.spelled)
    return frozenset(graph.offered(graph.leading_to(words, STEPS, through_variables=True))), frozenset(read)

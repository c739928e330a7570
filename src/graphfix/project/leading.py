"""Which files come to what the analysis is about, themselves or by what they import: read off their bytes."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from pathlib import Path

from graphfix.models.words import spelled_by_code
from graphfix.project.importers import names_imported, names_imported_in
from graphfix.source.decode import read_bytes
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER, Finder
from graphfix.source.reads import note_read

# how many files further a backward pass is looked for
MAX_FILES_AWAY = 3


def leads_on(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether the bytes of a file, or of one that it comes to by its imports, spell what the analysis is about."""
    return _noted(*leading(path, roots, MAX_FILES_AWAY))


def leads_on_from(path: Path, text: str, roots: tuple[Path, ...]) -> bool:
    """The same of what the file at `path` imports, if it says `text`."""
    names = names_imported_in(text.encode("utf-8", "surrogatepass"))
    return any(_noted(*leading(target, roots, MAX_FILES_AWAY - 1)) for target in targets(path, names, roots))


def targets(path: Path, names: Iterable[str], roots: tuple[Path, ...]) -> list[Path]:
    """The files of the project that the imported `names` may mean in the file at `path`."""
    finder = Finder(path, roots)
    wanted = (name for name in names if name.lstrip(".").split(".")[0] not in NEVER)
    found = (finder.find(name, path) for name in wanted)
    return list(dict.fromkeys(target for target in found if target is not None and target != path))


def _noted(answer: bool, files: frozenset[Path]) -> bool:
    """An answer, of which it is noted which files it goes by, also where it was found out before."""
    for path in files:
        note_read(path)
    return answer


@functools.lru_cache(maxsize=20_000)
def leading(path: Path, roots: tuple[Path, ...], left: int) -> tuple[bool, frozenset[Path]]:
    """Whether a file, or one that it imports, up to `left` files further, spells it, with the files that this goes by."""
    note_read(path)
    read = {path}
    try:
        if spelled_by_code(read_bytes(path)):
            return True, frozenset(read)
    except SourceError:
        return False, frozenset(read)
    for target in targets(path, names_imported(path), roots) if left else ():
        leads, files = leading(target, roots, left - 1)
        read |= files
        if leads:
            return True, frozenset(read)
    return False, frozenset(read)

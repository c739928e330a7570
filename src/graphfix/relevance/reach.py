"""By which names of other files a file comes to a backward pass, to a read out of a graph, or to what makes one."""

from __future__ import annotations

import ast
import enum
import functools
import re
from collections.abc import Callable
from pathlib import Path

from graphfix.interpreter.imports import parsed
from graphfix.project.leading import MAX_FILES_AWAY, leading
from graphfix.relevance.facts import ANY_READ, ATTRIBUTES, METHODS, NAMES, Fact, Facts
from graphfix.relevance.parts import Parts, forget_parts, parts_of
from graphfix.relevance.sayings import Said
from graphfix.source.decode import read_bytes
from graphfix.source.errors import SourceError
from graphfix.source.finder import NEVER, Finder
from graphfix.source.reads import note_read

# what makes a graph, or is there where one is
BRINGS = frozenset((Fact.WALK, Fact.TRAIN, Fact.MODULE, Fact.RECORD))
# bytes without any of these names say none of it
_SAYING = {name for table in (NAMES, METHODS, ATTRIBUTES) for name, facts in table.items() if not facts.isdisjoint(BRINGS)}
_BRINGING = re.compile(
    rb"\b(?:%s)\b" % "|".join(sorted({*_SAYING, "requires_grad", "torchvision", "timm", "transformers"})).encode()
)
Names = frozenset[str]


class Aim(enum.Enum):
    """What code may come to: its facts, how many calls away it is looked for in each file, and over how many files.

    What lies further is met by the usual runs, or not at all.
    """

    WALK = frozenset((Fact.WALK, Fact.TRAIN, Fact.CLEAR)), 3, MAX_FILES_AWAY
    READ = ANY_READ | {Fact.FIRST}, 3, MAX_FILES_AWAY
    BRING = BRINGS, 1, 0

    @property
    def facts(self) -> Facts:
        return self.value[0]


class Imports:
    """Which of the names that a file imports come to something, each file being read when a name of it is asked for."""

    def __init__(self, path: Path, roots: tuple[Path, ...], offering: Callable[[Path], Names]) -> None:
        """`offering`: gives the names by which those who import a file come to it."""
        self.path = path
        self.finder = Finder(path, roots)
        self.offering = offering
        self._known: dict[str, bool] = {}

    def comes(self, name: str) -> bool:
        """Whether a full name does."""
        if name not in self._known:
            self._known[name] = self._comes(name)
        return self._known[name]

    def _comes(self, name: str) -> bool:
        level = len(name) - len(name.lstrip("."))
        parts = name[level:].split(".")
        if parts[0] in NEVER:
            return False
        for end in range(len(parts) - 1, -1 if level else 0, -1):
            target = self.finder.find("." * level + ".".join(parts[:end]), self.path)
            if target is not None and target != self.path:
                note_read(target)
                return parts[end] in self.offering(target)
        return False


def imports_to(aim: Aim, path: Path, roots: tuple[Path, ...]) -> Imports:
    """What the file at `path` imports that comes to an aim."""
    return Imports(path, roots, lambda target: offered(target, roots, aim))


def offered(path: Path, roots: tuple[Path, ...], aim: Aim) -> Names:
    """The names in the file at `path` by which those who import it come to `aim`, there or in the files that it imports."""
    names, files = _offered(path, roots, aim, aim.value[2])
    for each in files:  # also where it was found out before
        note_read(each)
    return names


def forget() -> None:
    """Read all files anew from now on."""
    _offered.cache_clear()
    forget_parts()
    leading.cache_clear()


@functools.lru_cache(maxsize=8_000)
def _offered(path: Path, roots: tuple[Path, ...], aim: Aim, left: int) -> tuple[Names, frozenset[Path]]:
    """The names that a file offers, with the files that this goes by; it is followed `left` files further."""
    leads, files = _spells(path, roots, aim, left)
    document = parsed(path, path.stem) if leads and left >= 0 else None
    if document is None:
        return frozenset(), files
    read = set(files)

    def further(target: Path) -> Names:
        names, more = _offered(target, roots, aim, left - 1)
        read.update(more)
        return names

    parts = parts_of(document)
    begin = coming(parts, aim.facts, Imports(path, roots, further) if left else None)
    return frozenset(parts.offered(parts.leading_to(begin, aim.value[1], through_variables=True))), frozenset(read)


def _spells(path: Path, roots: tuple[Path, ...], aim: Aim, left: int) -> tuple[bool, frozenset[Path]]:
    """Whether the bytes of a file may say what the aim is about, with the files that this goes by."""
    if aim is not Aim.BRING:
        return leading(path, roots, max(left, 0))
    note_read(path)
    try:
        return _BRINGING.search(read_bytes(path)) is not None, frozenset((path,))
    except SourceError:
        return False, frozenset((path,))


def coming(parts: Parts, facts: Facts, imports: Imports | None) -> set[ast.AST]:
    """The parts of a file that say one of the `facts`, or name something imported that comes to them."""
    return {part for part, said in parts.said.items() if says(said, facts, imports)}


def says(said: Said, facts: Facts, imports: Imports | None) -> bool:
    """The same of one part, or of a piece of code."""
    return not facts.isdisjoint(said.facts) or imports is not None and any(map(imports.comes, said.imports))

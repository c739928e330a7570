"""The texts that one file goes through: what is found in each, and what fixes make of it.

All of it is worked out once, whatever command asks for it, and kept by what it goes by. What is wanted of it, and how it is told, is
decided behind it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from graphfix.interpreter.conventions import Conventions
from graphfix.model import Edit, Finding, Fix
from graphfix.run import engine
from graphfix.run.engine import Analysis
from graphfix.run.selection import every
from graphfix.source.decode import decode
from graphfix.source.guard import parse, parses
from graphfix.source.reads import noted_reads
from graphfix.source.text import Source

if TYPE_CHECKING:
    from graphfix.run.cache import Cache
    from graphfix.run.unchanged import Met

Value = TypeVar("Value")


class NotKept(Exception):
    """Something has to be worked out."""


@dataclass(frozen=True)
class Tried:
    """What fixes make of a text, whether that parses, and which of them are in it, or are refused and why."""

    text: str
    parses: bool
    applied: tuple[Fix, ...]
    refused: tuple[tuple[Fix, str], ...]


class Texts:
    """The texts of the file at `path`, with what earlier runs have kept of them in `cache`.

    `roots` and `conventions`: as `engine.analyse` takes them; `is_blamed`: as `engine.analyse_blamed` does.
    `only_recalls`: raise `NotKept` where something has to be worked out.
    """

    def __init__(
        self,
        path: Path,
        roots: tuple[Path, ...],
        conventions: Conventions,
        cache: Cache | None = None,
        *,
        is_blamed: bool = False,
        only_recalls: bool = False,
    ) -> None:
        self.path = path
        # one name for it, wherever a run starts; who is a link stands among the files beside it
        self._real = Path(os.path.realpath(path.parent)) / path.name
        self._roots = roots
        self._conventions = conventions
        self._cache = cache
        self._is_blamed = is_blamed
        self._only_recalls = only_recalls
        self._analyses: dict[str, Analysis] = {}
        self._new: dict[bytes, tuple[object, Sequence[Met]]] = {}

    def decoded(self, data: bytes) -> Source:
        """The source in these bytes, whose text parses; or raise `SourceError`."""
        known = self._kept("source", Source, lambda: self._parsed(data), self.path.suffix, data)
        return replace(known, path=self.path, data=data)

    def _parsed(self, data: bytes) -> Source:
        source = decode(self.path, data)
        parse(source.text)
        return replace(source, data=b"")

    def analysed(self, text: str, counts: Callable[[Finding], bool] = every) -> Analysis:
        """What is wrong in `text`, as far as it counts; all that is not optional is proven, whatever counts."""
        key = self._analysis_key(text)
        known = self._analyses.get(text) or self._recalled(key, Analysis)
        if known is None or any(map(counts, known.unasked)):
            known = self._looked(text, counts if known is None else every, key)
        self._analyses[text] = known
        found = filter(counts, known.findings)
        return replace(known, findings=tuple(_told_as(finding, str(self._real), str(self.path)) for finding in found), unasked=())

    def _looked(self, text: str, counts: Callable[[Finding], bool], key: bytes) -> Analysis:
        self._work_out()
        look = engine.analyse_blamed if self._is_blamed else engine.analyse
        with noted_reads() as reads:
            made = look(self._real, text, self._roots, self._conventions, lambda each: not each.optional or counts(each))
        if self._cache is not None and not made.faults:  # what went wrong may go right another time
            from graphfix.run.unchanged import met

            told = {label.path for finding in (*made.findings, *made.unasked) for label in finding.story}
            self._new[key] = made, met(reads, told, text)
        return made

    def _analysis_key(self, text: str) -> bytes:
        if self._cache is None:
            return b""
        return self._cache.key("analysis", str(self._real), self._conventions, self._is_blamed, text, project=True)

    def applied(self, text: str, fixes: Sequence[Fix]) -> Tried:
        """What those of the `fixes` that go together make of `text`."""
        return self._kept("tried", Tried, lambda: _tried(text, fixes), text, fixes)

    def edits(self, text: str, fix: Fix) -> tuple[Edit, ...]:
        """The smallest edits that a fix comes down to; none where it is refused."""
        return self._kept("edits", tuple, lambda: _edits(text, fix), text, fix)

    def keep(self) -> None:
        """Keep what has been worked out."""
        if self._cache is not None:
            self._cache.put(self._new)

    def _kept(self, name: str, kind: type[Value], make: Callable[[], Value], *parts: object) -> Value:
        """What was kept by this `name` for the `parts`, or what `make` gives, which goes by them alone."""
        key = self._cache.key(name, *parts) if self._cache is not None else b""
        known = self._recalled(key, kind)
        if known is None:
            self._work_out()
            known = make()
            if self._cache is not None:
                self._new[key] = known, ()
        return known

    def _recalled(self, key: bytes, kind: type[Value]) -> Value | None:
        known, _ = self._new.get(key, (None, ()))
        if isinstance(known, kind):
            return known
        return self._cache.get(key, kind) if self._cache is not None else None

    def _work_out(self) -> None:
        if self._only_recalls:
            raise NotKept(self.path)


def _tried(text: str, fixes: Sequence[Fix]) -> Tried:
    from graphfix.rewrite import apply_fixes

    made = apply_fixes(text, fixes)
    return Tried(made.text, made.text == text or parses(made.text), made.applied, made.refused)


def _edits(text: str, fix: Fix) -> tuple[Edit, ...]:
    from graphfix.rewrite import edits_of

    return edits_of(text, fix)


def _told_as(finding: Finding, real: str, name: str) -> Finding:
    """A finding in the file at `real` as one in the file called `name`."""
    if real == name:
        return finding
    story = tuple(replace(label, path=name) if label.path == real else label for label in finding.story)
    return replace(finding, path=name, story=story)

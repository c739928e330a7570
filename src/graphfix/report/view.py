"""What a form is given: the outcomes of a run, the rules, and the names and places that other programs understand."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit, Finding
from graphfix.report.escape import escaped
from graphfix.report.places import Files
from graphfix.run.fingerprint import marks
from graphfix.run.outcome import Outcome

if TYPE_CHECKING:
    from graphfix.codemods.base import Rule


Made = TypeVar("Made")


@dataclass(frozen=True)
class Told:
    """One finding with all that a form may say of it. `fingerprint` stays the same while the lines around it move."""

    path: Path
    finding: Finding
    edits: tuple[Edit, ...]
    files: Files
    fingerprint: str


Item = TypeVar("Item", Outcome, Told)


@dataclass(frozen=True)
class View:
    """The outcomes of a run. `root`: the folder that names are relative to. `rules`: all, for a form that lists them.

    `lost`: the files of which something could not be written, and why. `columns`: how wide a terminal is that shows them.
    """

    outcomes: Sequence[Outcome]
    rules: Sequence[Rule]
    root: Path
    lost: list[tuple[Path, Exception]] = field(default_factory=list)
    columns: int | None = None

    def each(self, items: Iterable[Item], make: Callable[[Item], Iterable[Made]]) -> Iterator[Made]:
        """What `make` gives of each item, all of it or none: an item that cannot be written costs itself."""
        for item in items:
            try:
                made = list(make(item))
            except Exception as error:  # whatever it is, it costs this record
                self.lost.append((item.path, error))
                continue
            yield from made

    def told(self) -> Iterator[Told]:
        """Every finding, in order."""
        return self.each((outcome for outcome in self.outcomes if outcome.source is not None), self._told)

    def _told(self, outcome: Outcome) -> Iterator[Told]:
        assert outcome.source is not None
        files = Files(outcome.source)
        edits = outcome.edits_of_fixes
        prints = self._fingerprints(outcome)
        for finding, own, fingerprint in zip(outcome.findings, edits, prints, strict=True):
            yield Told(outcome.path, finding, own, files, fingerprint)

    def failed(self) -> Iterator[Outcome]:
        """Every file that was not examined."""
        return (outcome for outcome in self.outcomes if outcome.failed)

    def unfinished(self) -> Iterator[Outcome]:
        """Every file that was not analysed to the end."""
        return (outcome for outcome in self.outcomes if outcome.unfinished)

    def name(self, path: str | Path) -> str:
        """The path relative to the root if it lies below it, else absolute; with slashes."""
        if str(path).startswith("<"):
            return str(path)
        absolute = Path(os.path.abspath(path))
        try:
            return absolute.relative_to(self.root).as_posix()
        except ValueError:
            return absolute.as_posix()

    def _fingerprints(self, outcome: Outcome) -> list[str]:
        assert outcome.source is not None
        met: Counter[object] = Counter()
        prints = []
        for mark in marks(outcome.source.text, outcome.findings):
            met[mark] += 1
            parts = (mark.code, self.name(outcome.path), mark.place, mark.line, str(met[mark]))
            prints.append(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32])
        return prints


def rooted(view: View, variable: str) -> View:
    """The view with names relative to the folder that the environment names, if it names one."""
    folder = os.environ.get(variable)
    return replace(view, root=Path(os.path.abspath(folder))) if folder else view


def plain(text: str) -> str:
    """`text` without the lone surrogates of names that are not valid UTF-8, which strict readers refuse."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def legible(text: str) -> str:
    """A message of one line as whoever reads it in another program is to see it; names that a program looks up stay `plain`."""
    return escaped(plain(text))

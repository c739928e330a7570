"""From the frames of an error to the findings that explain it."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from pathlib import Path

from graphfix.files.place import project_root
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Span
from graphfix.project.importers import distance
from graphfix.run.cache import Cache, for_this_run
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import Wanted
from graphfix.run.workers import examined_here
from graphfix.settings.scope import Scope
from graphfix.source.document import Document
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex
from graphfix.source.subtree import subtree
from graphfix.source.text import Source
from graphfix.why.doubt import is_apart, is_doubtful
from graphfix.why.errors import Trouble
from graphfix.why.kinds import Kind, kind_of
from graphfix.why.neighbours import files_with_modules, imported_files
from graphfix.why.places import Locator, Nowhere, Place, shortest
from graphfix.why.whose import users

MAX_FILES = 12
MAX_FAR = 24
MAX_SHOWN = 2
MAX_NAMED = 3


class Nearness(IntEnum):
    """How close a finding is to a line of the traceback."""

    LINE = 0
    FUNCTION = 1
    FILE = 2
    IMPORTED = 3
    PROJECT = 4


@dataclass(frozen=True)
class Cause:
    """A finding that explains the error, in the outcome of its file."""

    finding: Finding
    outcome: Outcome
    nearness: Nearness


@dataclass(frozen=True)
class Diagnosis:
    """What is known of an error. `places`: the user's frames, deepest first. `others`: findings that explain it less well."""

    trouble: Trouble
    kind: Kind | None
    places: tuple[Place, ...] = ()
    missing: tuple[Nowhere, ...] = ()
    causes: tuple[Cause, ...] = ()
    others: int = 0
    problems: tuple[str, ...] = ()


Scopes = Mapping[Path | None, Scope]


def scopes_of(scopes: Scopes, codes: Sequence[str]) -> Scopes:
    """The settings with these rules selected, whatever they select: an error is there to be explained."""
    return {
        folder: replace(scope, wanted=replace(scope.wanted, select=tuple(codes), extend=(), ignore=(), never=()), per_file=())
        for folder, scope in scopes.items()
    }


@dataclass
class Investigation:
    """One search. `settings` says what the settings files hold for some files; `cache` keeps what a program of several of them shows."""

    locator: Locator
    settings: Callable[[Path], Scopes] = lambda path: {}
    cache: Cache = field(default_factory=for_this_run)
    _outcomes: dict[str, Outcome] = field(default_factory=dict)

    def diagnose(self, trouble: Trouble) -> Diagnosis:
        """What explains the error."""
        kind = kind_of(trouble.headline)
        frames = [*users(trouble.made)[::-1], *users(trouble.frames)[::-1]] if trouble.made else users(trouble.frames)[::-1]
        looked = self.locator.placed(list(dict.fromkeys(frames)))
        places = tuple(place for place in looked if isinstance(place, Place))
        missing = tuple(place for place in looked if isinstance(place, Nowhere))
        if kind is None or not kind.codes:
            return Diagnosis(trouble, kind, places, missing)
        ranked = sorted(self._causes(kind, places), key=lambda pair: pair[0])
        causes = list(_without_echoes([cause for _, cause in ranked]))
        best = [cause for cause in causes if cause.nearness is causes[0].nearness][:MAX_SHOWN]
        # a retained or a legacy line beside the cause is no second cause
        best = [cause for cause in best if _weight(kind, cause) == _weight(kind, best[0]) or cause.nearness is Nearness.LINE]
        others = sum(not cause.finding.optional for cause in causes if cause not in best)  # as `check` tells them
        return Diagnosis(trouble, kind, places, missing, tuple(best), others, tuple(self._problems()))

    def _causes(self, kind: Kind, places: Sequence[Place]) -> Iterator[tuple[tuple[int, ...], Cause]]:
        met: set[tuple[str, Span, str]] = set()
        files = list(dict.fromkeys(place.source.path for place in places))[:MAX_FILES]
        imported = (Path(shortest(str(path))) for path in imported_files(files, _roots(files)))
        near = [path for path in imported if path not in files][:MAX_FILES]
        yield from self._told_in((*files, *near), kind, places, met)
        if not met:  # a module that is looked up by its name is imported by nobody
            known = {os.path.realpath(path) for path in (*files, *near)}
            modules = (Path(shortest(str(path))) for path in files_with_modules(_roots(files)))
            far = [path for path in modules if os.path.realpath(path) not in known]
            real = [Path(os.path.realpath(file)) for file in files]
            far.sort(key=lambda path: min((distance(Path(os.path.realpath(path)), file) for file in real), default=0))
            for number, (_, cause) in enumerate(self._told_in(far[:MAX_FAR], kind, places, met)):
                yield (Nearness.PROJECT, number), replace(cause, nearness=Nearness.PROJECT)

    def _told_in(
        self, paths: Sequence[Path], kind: Kind, places: Sequence[Place], met: set[tuple[str, Span, str]]
    ) -> Iterator[tuple[tuple[int, ...], Cause]]:
        together = frozenset(Path(os.path.realpath(path)) for path in paths)
        for path in paths:
            outcome = self._examined(path, kind, together)
            for finding in outcome.findings:
                key = (os.path.realpath(finding.path), finding.span, finding.code)
                if finding.code not in kind.codes or key in met or is_apart(kind, finding):
                    continue
                met.add(key)
                nearness, depth = _nearest(finding, outcome, places)
                if nearness is not Nearness.LINE and _is_doubtful(kind, finding, outcome, places[depth : depth + 1]):
                    continue
                yield (nearness, depth, kind.codes.index(finding.code), finding.span.start), Cause(finding, outcome, nearness)

    def _examined(self, path: Path, kind: Kind, together: frozenset[Path]) -> Outcome:
        """What is wrong in a file. `together`: all that are looked at: what lies in another one of them is told there."""
        name = str(path)
        if name not in self._outcomes:
            scopes = scopes_of(self.settings(path), kind.codes)
            job = Job(_roots([path]), Wanted(select=kind.codes), edits=True, scopes=scopes, is_blamed=True, cache=self.cache, examined=together)
            self._outcomes[name] = examined_here(path, job)
        return self._outcomes[name]

    def _problems(self) -> Iterator[str]:
        cut: dict[str, dict[str, None]] = {}
        for outcome in self._outcomes.values():
            if outcome.status is not Status.EXAMINED:
                yield f"{outcome.path}: cannot be analysed: {outcome.reason}"
            elif outcome.unfinished:  # of a program that comes to this file it is said which one that is
                program, _, reason = outcome.unfinished.rpartition(": ")
                cut.setdefault(reason, {})[program or outcome.path.name] = None
        for reason, programs in cut.items():
            more = f" and {len(programs) - MAX_NAMED} more" if len(programs) > MAX_NAMED else ""
            yield f"{', '.join(list(programs)[:MAX_NAMED])}{more}: not analysed to the end: {reason}"


def _without_echoes(causes: Sequence[Cause]) -> Iterator[Cause]:
    """The causes without those that tell in another file of what one of them tells where it stands; of two that tell of each other the first."""
    for number, cause in enumerate(causes):
        others = ((place, other) for place, other in enumerate(causes) if _tells_of(cause, other))
        if not any(place < number or not _tells_of(other, cause) for place, other in others):
            yield cause


def _tells_of(cause: Cause, other: Cause) -> bool:
    """Whether a step of the story of `cause` lies in the place of `other`, which is in another file."""
    steps = {os.path.realpath(label.path): label.span for label in cause.finding.story if label.path != cause.finding.path}
    found = other.finding
    return found.code == cause.finding.code and _is_within(steps.get(os.path.realpath(found.path)), found.span)


def _is_within(step: Span | None, place: Span) -> bool:
    return step is not None and place.start <= step.start and step.end <= place.end


def _roots(files: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(project_root(path.parent) for path in files))


def _weight(kind: Kind, cause: Cause) -> int:
    return kind.codes.index(cause.finding.code)


def _is_doubtful(kind: Kind, finding: Finding, outcome: Outcome, near: Sequence[Place]) -> bool:
    data = outcome.source.text.encode("utf-8", "surrogatepass") if outcome.source is not None else b""
    bounds = [(place, _function(place)) for place in near if place.source.path == outcome.path]
    rows = [place.row for place, around in bounds if _holds(around, finding.span.start) and _is_raised(place)]
    return is_doubtful(kind, finding, data, rows)


def _is_raised(place: Place) -> bool:
    """Whether the line calls backward() itself, and no function that does."""
    return "backward" in LineIndex(place.source.text).line(place.row)


def _nearest(finding: Finding, outcome: Outcome, places: Sequence[Place]) -> tuple[Nearness, int]:
    """How close the finding is to any of the places, and which of them that is; the deepest wins."""
    best = (Nearness.IMPORTED, len(places))
    for depth, place in enumerate(places):
        best = min(best, (_nearness(finding, outcome, place), depth))
    return best


def _nearness(finding: Finding, outcome: Outcome, place: Place) -> Nearness:
    real = os.path.realpath(place.source.path)
    index = place.source.index()
    spans = [label.span for label in finding.story if os.path.realpath(label.path) == real]
    if os.path.realpath(finding.path) == real:
        spans.append(finding.span)
    if not spans:
        return Nearness.IMPORTED
    if any(_covers(index, span, place) for span in spans):
        return Nearness.LINE
    bounds = _function(place)
    if any(bounds.start <= span.start and span.end <= bounds.end for span in spans):
        return Nearness.FUNCTION
    return Nearness.FILE


def _covers(index: LineIndex, span: Span, place: Place) -> bool:
    first, last = index.place(span.start)[0], index.place(max(span.start, span.end - 1))[0]
    return index.cell(span.start) == place.cell and first <= place.row <= last


def _function(place: Place) -> Span:
    """The innermost function around a place; the cell, or the whole file, outside of any."""
    source = place.source
    try:
        document = Document(str(source.path), source.text)
    except SourceError:
        return Span(0, 0)
    offset = _offset(source, place)
    around = [
        document.span(node)
        for node in subtree(document.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _holds(document.span(node), offset)
    ]
    return min(around, key=lambda span: span.end - span.start, default=Span(0, len(document.data)))


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset < span.end


def _offset(source: Source, place: Place) -> int:
    """Where the code of a place's line begins."""
    shown, plain = source.index(), LineIndex(source.text)
    if place.cell is None:
        line = plain.line(place.row)
        return (
            plain.starts[place.row - 1]
            + len(line.encode("utf-8", "surrogatepass"))
            - len(line.lstrip().encode("utf-8", "surrogatepass"))
        )
    rows = (start for start in plain.starts if start < len(source.text.encode()) and shown.cell(start) == place.cell)
    return next((start for start in rows if shown.place(start)[0] == place.row), 0)

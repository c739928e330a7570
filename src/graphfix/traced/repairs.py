"""What the static analysis says of the lines that a run's story goes through."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from graphfix.autograd.symptoms import GROWS, MAKES_MORE, RETAINS, Symptom
from graphfix.model import Finding
from graphfix.report.escape import escaped
from graphfix.report.remedy import remedy
from graphfix.report.text import Line, Piece, with_short_code
from graphfix.run.outcome import Outcome
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex
from graphfix.source.text import Source
from graphfix.traced.growing import growth
from graphfix.traced.record import CELL, Place, Trace
from graphfix.traced.screen import hides, is_raised, places, shown
from graphfix.traced.story import files_of

FILES = 4  # are analysed
SHOWN = 3  # findings of each file
NEAR = 2  # lines


def analysed(trace: Trace) -> list[Path]:
    """The files that the story goes through, those with most of it first; none where there is nothing to explain."""
    return files_of(trace)[:FILES] if trace.failures or shown(trace) or _symptoms(trace) else []


def related(trace: Trace, outcome: Outcome) -> list[Finding]:
    """The findings of a file that explain what the run has shown, by their rules and their places; those with a fix first."""
    from graphfix.codemods import RULES

    wanted = _symptoms(trace)
    codes = {rule.code for rule in RULES if any(is_raised(each, trace) or each in wanted for each in rule.shows)}
    looks = () if hides(trace) else trace.looks[-2:]
    names = {holder.carrier.base for look in looks for holder in look.holders}
    lines: dict[str, set[tuple[int | None, int]]] = {}
    for place in _places(trace):
        lines.setdefault(os.path.realpath(place.file.partition(CELL)[0]), set()).add(_row(place))
    found = [
        finding
        for finding in outcome.findings
        if finding.code in codes and outcome.source is not None and not _is_apart(trace, finding)
        if _touches(outcome.source, finding, lines) or names & set(finding.message.split("`")[1:2])
    ]
    return sorted(found, key=lambda finding: not has_fix(finding))[:SHOWN]


def _is_apart(trace: Trace, finding: Finding) -> bool:
    """Whether the run ended in an error that the finding is proven not to lead to."""
    return hides(trace) and finding.never_raises


def has_fix(finding: Finding) -> bool:
    return finding.fix is not None and bool(finding.fix.operations)


def headed(findings: Iterable[Finding], name: str) -> Iterator[Line]:
    """Each finding of the file `name`, with what its fix does and how sure that is."""
    for finding in findings:
        yield (Piece(f"{finding.code} ", "bold"), Piece(f"{with_short_code(escaped(finding.message))} ({escaped(name)})"))
        yield from ((Piece(f"       {escaped(sentence)}", "blue"),) for sentence in remedy(finding))


def _symptoms(trace: Trace) -> set[Symptom]:
    """What the run has shown besides errors; nothing where it ended in one, which is to be repaired first."""
    wanted: set[Symptom] = set()
    if hides(trace):
        return wanted
    if any(True for _ in growth(trace)):
        wanted.add(GROWS)
    if trace.retained:
        wanted.add(RETAINS)
    if trace.unwalked:
        wanted.add(MAKES_MORE)
    return wanted


def _places(trace: Trace) -> Iterator[Place]:
    yield from places(trace)
    if hides(trace):
        return
    for look in trace.looks[-2:]:
        yield from (holder.made for holder in look.holders if holder.made is not None)
    for waste in (*trace.retained, *trace.unwalked):
        yield waste.place
        yield from (Place(*caller) for caller in waste.place.callers)
    for walk in trace.run.walks[-1:]:
        for born in walk.born:
            file, _, line = born.rpartition(":")
            yield Place(file, int(line))


def _row(place: Place) -> tuple[int | None, int]:
    """The cell of a notebook, from 0, and the line; None for any other file."""
    cell = place.file.partition(CELL)[2]
    return (int(cell) - 1 if cell else None, place.line)


def _touches(source: Source, finding: Finding, lines: Mapping[str, set[tuple[int | None, int]]]) -> bool:
    """Whether the finding, or its story, runs through one of the lines of a file, or right beside it."""
    spans = [(finding.path, finding.span), *((label.path, label.span) for label in finding.story)]
    for path, span in spans:
        rows = lines.get(os.path.realpath(path))
        index = source.index() if path == finding.path else _index_of(path) if rows else None
        if rows and index is not None:
            within, first, last = index.cell(span.start), index.place(span.start)[0], index.place(span.end)[0]
            if any(cell == within and first - NEAR <= line <= last + NEAR for cell, line in rows):
                return True
    return False


def _index_of(path: str) -> LineIndex | None:
    """Where the lines of another file of the story begin."""
    try:
        return read(Path(path)).index()
    except SourceError:
        return None

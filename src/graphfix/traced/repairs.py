"""What the static analysis says of the lines that a run's story goes through, and what would repair them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from graphfix.files.place import project_root
from graphfix.model import Applicability, Finding
from graphfix.report.escape import escaped, shown
from graphfix.report.text import Line, Piece
from graphfix.source.text import Source
from graphfix.traced.record import Place, Trace
from graphfix.traced.story import files_of
from graphfix.verify.symptoms import GROWS, MAKES_MORE, RETAINS, SECOND_WALK, WRITTEN_IN_PLACE, Symptom

FILES = 4  # are analysed
NEAR = 2  # lines


@dataclass(frozen=True)
class Repair:
    """A finding that explains what the run has shown, with the bytes of its file before and after its fix."""

    path: Path
    finding: Finding
    before: bytes
    after: bytes | None

    @property
    def safe(self) -> bool:
        return self.finding.fix is not None and self.finding.fix.applicability is Applicability.SAFE


def fixes_for(trace: Trace) -> list[Repair]:
    """The findings of the rules that such symptoms belong to, at the lines of the story; those with a fix first."""
    from graphfix.codemods import RULES

    wanted = _symptoms(trace)
    codes = {rule.code for rule in RULES if wanted & set(rule.shows)}
    found = [repair for path in files_of(trace)[:FILES] for repair in _in_file(path, trace, codes)] if codes else []
    return sorted(found, key=lambda repair: repair.after is None)


def _symptoms(trace: Trace) -> set[Symptom]:
    from graphfix.traced.story import growth

    wanted: set[Symptom] = set()
    for failure in trace.failures:
        wanted.add(SECOND_WALK if failure.kind == "second" else WRITTEN_IN_PLACE)
    if any(True for _ in growth(trace)):
        wanted.add(GROWS)
    if trace.retained:
        wanted.add(RETAINS)
    if trace.unwalked:
        wanted.add(MAKES_MORE)
    return wanted


def _in_file(path: Path, trace: Trace, codes: set[str]) -> Iterator[Repair]:
    from graphfix.run.engine import findings_of
    from graphfix.source.decode import read
    from graphfix.source.errors import SourceError

    try:
        source = read(path)
        findings = findings_of(path, source.text, (project_root(path.parent),))
    except SourceError:
        return
    lines = {place.line for place in _places(trace) if Path(place.file) == path}
    names = {holder.carrier.base for look in trace.looks[-2:] for holder in look.holders}
    for finding in findings:
        named = finding.message.split("`")[1:2]
        if finding.code in codes and not finding.optional and (_touches(source, finding, lines) or names & set(named)):
            yield Repair(path, finding, source.data, _repaired(source, finding))


def _places(trace: Trace) -> Iterator[Place]:
    for failure in trace.failures:
        named = (failure.made, failure.freed, failure.crossing, failure.write, failure.now, *failure.path)
        yield from (place for place in named if place is not None)
    for look in trace.looks[-2:]:
        yield from (holder.made for holder in look.holders if holder.made is not None)
    for waste in (*trace.retained, *trace.unwalked):
        yield waste.place
    for walk in trace.run.walks[-1:]:
        for born in walk.born:
            file, _, line = born.rpartition(":")
            yield Place(file, int(line))


def _touches(source: Source, finding: Finding, lines: set[int]) -> bool:
    """Whether the finding, or its story, runs through one of the lines, or right beside it."""
    index = source.index()
    spans = [finding.span, *(label.span for label in finding.story if label.path == finding.path)]
    rows = [(index.place(span.start)[0], index.place(span.end)[0]) for span in spans]
    return any(first - NEAR <= line <= last + NEAR for line in lines for first, last in rows)


def _repaired(source: Source, finding: Finding) -> bytes | None:
    if finding.fix is None or not finding.fix.operations:
        return None
    from graphfix.rewrite import apply_fixes

    applied = apply_fixes(source.text, [finding.fix])
    return source.edited(applied.text).data if applied.applied else None


def shown_fixes(repairs: list[Repair], *, applied: bool) -> Iterator[Line]:
    """Each repair as a diff, with what to type next."""
    for repair in repairs[:3]:
        finding = repair.finding
        yield (Piece(f"{finding.code} ", "bold"), Piece(f"{escaped(finding.message)} ({escaped(_relative(repair.path))})"))
        if repair.after is None:
            yield (Piece("       no automatic repair: ", "blue"), Piece("`graphfix rule " + finding.code + "` says what to do"))
            continue
        kind = "safe" if repair.safe else "unsafe: read it, it may change what the program computes"
        assert finding.fix is not None
        yield (Piece(f"       {escaped(finding.fix.title)} ({kind})", "blue"),)
        yield from _diff(repair)
    ready = [repair for repair in repairs[:3] if repair.after is not None]
    if ready and not applied:
        yield (Piece("to apply: ", "bold"), Piece(_command(ready[0])))


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _command(repair: Repair) -> str:
    unsafe = "" if repair.safe else " --unsafe-fixes"
    return f"graphfix apply {escaped(_relative(repair.path))} --select {repair.finding.code}{unsafe}"


def _diff(repair: Repair) -> Iterator[Line]:
    from graphfix.rewrite.patch import unified

    assert repair.after is not None
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in unified(_relative(repair.path), repair.before, repair.after).decode("utf-8", "replace").splitlines()[2:]:
        yield (Piece(f"       {shown(line)}", styles.get(line[:1], "")),)

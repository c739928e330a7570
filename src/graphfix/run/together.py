"""What several programs show of one file, taken together: each fault once, with the best fix that one of them offers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from graphfix.model import Applicability, Decorate, Finding, Operation, Span, Wrap
from graphfix.run import engine
from graphfix.run.engine import Analysis

Place = tuple[str, Span]  # the rule, and where
Told = dict[Place, list[Finding]]


def together(path: str, own: Analysis, *shown: Analysis) -> Analysis:
    """What the programs that come to the file at `path` show of it: each fault once, with the best fix that one of them offers.

    `own`: of the program that begins there.
    """
    every_one = (own, *shown)
    known, ended = _each_once([_told(path, each) for each in every_one])
    refuted = {(code, span) for each in every_one for code, file, span in each.refuted if file == path}
    left = (finding for place, found in known.items() if place not in refuted for finding in found)
    ordered = sorted(left, key=lambda each: (each.span.start, each.code, each.span.end))
    unasked = {id(finding) for each in every_one for finding in each.unasked}
    health = own.health
    for each in shown:
        health = each.health if health is None or each.health is None else health.beside(each.health)
    return replace(
        own,
        findings=tuple(_yielding(each, ended) for each in ordered if id(each) not in unasked),
        unasked=tuple(_yielding(each, ended) for each in ordered if id(each) in unasked),
        health=health,
        refuted=(),
    )


def _told(path: str, known: Analysis) -> Told:
    """What a program shows of the file at `path`."""
    told: Told = {}
    for finding in (*known.findings, *known.unasked):
        if finding.path == path:
            told.setdefault((finding.code, finding.span), []).append(finding)
    return told


def _each_once(programs: Sequence[Told]) -> tuple[Told, dict[Place, Place]]:
    """The best that is shown at each place, and by what that is told elsewhere the others are ended."""
    known: Told = {}
    ended: dict[Place, Place] = {}
    for told in programs:
        better = {place: found for place, found in told.items() if max(map(_rank, found)) > _best(known.get(place))}
        for mine, others in ((better, known), (known, better)):
            for place in [place for place in mine if place not in others]:
                by = next((other for other in others if ends(others[other], mine[place])), None)
                if by is not None:
                    ended[place] = by
                    del mine[place]
        known |= better
    return known, ended


def ends(found: list[Finding], others: list[Finding]) -> bool:
    """Whether the repair of findings that one program shows ends those of another one, too: it is the same, or it is made around theirs."""
    by = [part for each in found if each.fix is not None for part in each.fix.operations]
    parts = [part for each in others if each.fix is not None for part in each.fix.operations]
    is_one = found[0].code == others[0].code and _best(found) >= _best(others) and all(each.fix is not None for each in others)
    return is_one and bool(parts) and all(any(covers(one, part) for one in by) for part in parts)


def _yielding(finding: Finding, ended: Mapping[Place, Place]) -> Finding:
    """The finding, which yields to what is told in place of those that it yields to."""
    instead = [ended[place] for place in finding.yields_to if place in ended]
    return replace(finding, yields_to=(*finding.yields_to, *instead)) if instead else finding


def covers(operation: Operation, other: Operation) -> bool:
    """Whether one operation makes another needless: it is the same, or it decorates the function in which that wraps statements."""
    if isinstance(operation, Decorate) and isinstance(other, Wrap):
        outer, inner = operation.span, other.spans
        return other.header == f"with {operation.text}:" and all(
            each.path == outer.path and outer.start <= each.start and each.end <= outer.end for each in inner
        )
    return operation == other


def repaired_once(findings: Sequence[Finding], moved: Collection[Finding]) -> tuple[Finding, ...]:
    """The findings but for those that are told at their repair (`moved`), where another finding of the rule has the very same repair."""
    at_fault = {(each.code, each.fix.operations) for each in findings if each.fix is not None and each not in moved}
    return tuple(
        each for each in findings if not (each in moved and each.fix is not None and (each.code, each.fix.operations) in at_fault)
    )


def _rank(finding: Finding) -> tuple[bool, ...]:
    """How good a finding is among those at its place."""
    fix = finding.fix
    safe = fix is not None and fix.applicability is Applicability.SAFE
    return not finding.optional, not finding.yields_to, fix is not None, safe, not engine.by_failure(finding)


def _best(found: list[Finding] | None) -> tuple[bool, ...]:
    """How good the best of some findings is."""
    return max(map(_rank, found)) if found else ()

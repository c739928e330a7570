"""One program through the analysis: files, tape, findings."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphfix.effects.project_rows import adding
from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding, Label, Span
from graphfix.models.words import spelled_by_code
from graphfix.project.share import TooDear
from graphfix.run.collection import uncollected
from graphfix.run.glimpse import Glimpse, glimpse_of
from graphfix.run.precedence import plain, settled, told_once, without_contradicted
from graphfix.run.selection import every
from graphfix.run.suppression import suppressions
from graphfix.source.homes import at_home

if TYPE_CHECKING:
    from graphfix.analysis.entries import EntryPoint
    from graphfix.analysis.evidence import Evidence
    from graphfix.analysis.explore import Tape
    from graphfix.autograd.health import Health
    from graphfix.codemods.base import Rule
    from graphfix.source.document import Document


NOTHING: Mapping[Path, str] = MappingProxyType({})
# the code of a rule, and the file and the span that its finding would blame
Refuted = tuple[str, str, Span]
SHOWN = "only a traced run shows the types of these values"
LETTERS_OF_A_STEP = 10  # of the files whose flow is asked: that takes as long as to simulate a step
TRAINED = "only the failed run shows that backward() goes through the result of this module"


@dataclass(frozen=True)
class Fault:
    """A rule (by its code) that raised, which costs its findings in this file: a fault of graphfix."""

    code: str
    error: Exception


@dataclass(frozen=True)
class Analysis:
    """The findings that one program shows, by file and in source order, also those whose fault others tell better (`told_once`).

    `unfinished`: why the analysis ended early, so that some may be missing. `unasked`: the findings that do not count, whose fixes are not
    proven. `refuted`: where the program shows that a finding, which other programs may lead to, is none. `steps`: what it took, as a count.
    `usual`: what its usual runs show; None where that is not all that a repaired text is measured by.
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Finding, ...] = ()
    faults: tuple[Fault, ...] = ()
    unfinished: str = ""
    health: Health | None = None
    refuted: tuple[Refuted, ...] = ()
    steps: int = 0
    usual: Glimpse | None = None


def is_relevant(text: str) -> bool:
    """Whether the text spells anything that the tape could follow; refused here, a file is not even parsed."""
    return spelled_by_code(text.encode("utf-8", "surrogatepass"))


def _leads_on(path: Path, text: str, roots: tuple[Path, ...]) -> bool:
    from graphfix.project.leading import leads_on_from

    return leads_on_from(path, text, roots or (path.parent,))


def findings_of(
    path: Path,
    text: str,
    roots: tuple[Path, ...] = (),
    conventions: Conventions = NO_CONVENTIONS,
    counts: Callable[[Finding], bool] = every,
) -> list[Finding]:
    """The findings in the file `path` with content `text`, in source order; raises what a rule raises. Else as `analyse`."""
    found = analyse(path, text, roots, conventions, counts)
    for fault in found.faults:
        raise fault.error
    return told_once(found.findings)


def analyse(
    path: Path,
    text: str,
    roots: tuple[Path, ...] = (),
    conventions: Conventions = NO_CONVENTIONS,
    counts: Callable[[Finding], bool] = every,
    others: Mapping[Path, str] = NOTHING,
    share: int | None = None,
) -> Analysis:
    """What the program that begins in the file `path` with content `text` does wrong, in whichever file of the project.

    `roots` are the folders of the project, in which imports are followed; nothing is imported or executed for real.
    `conventions`: what the project's settings say of its own functions. `counts`: which findings are worth a proof.
    `others`: texts that other files are taken to have. `share`: the steps beyond which the program is given up, by `TooDear`. Raises
    `SourceError` where `text` does not parse.
    """
    if not (is_relevant(text) or conventions.spelled_in(text) or conventions.saw(path) or _leads_on(path, text, roots)):
        return Analysis()
    with adding(conventions.rows):
        return _forgotten(lambda: _analysed(path, text, roots, conventions, counts, others, share, is_blamed=False))


def analyse_blamed(
    path: Path,
    text: str,
    roots: tuple[Path, ...],
    conventions: Conventions,
    counts: Callable[[Finding], bool] = every,
    others: Mapping[Path, str] = NOTHING,
    share: int | None = None,
) -> Analysis:
    """As `analyse`, for a file in which a run has failed, or in what it imports.

    Whatever other files do with it is looked at, also where it spells nothing by itself that the tape could follow; the results of its
    modules go backward, whoever does that.
    """
    with adding(conventions.rows):
        return _forgotten(lambda: _analysed(path, text, roots, conventions, counts, others, share, is_blamed=True))


def _forgotten(look: Callable[[], Analysis]) -> Analysis:
    """What `look` gives, of which no key is kept."""
    from graphfix.interpreter.interning import forget_keys

    with uncollected():
        try:
            return look()
        finally:
            forget_keys()


def _analysed(
    path: Path,
    text: str,
    roots: tuple[Path, ...],
    conventions: Conventions,
    counts: Callable[[Finding], bool],
    others: Mapping[Path, str],
    share: int | None,
    *,
    is_blamed: bool,
) -> Analysis:
    from graphfix.analysis.health import health_of

    faults: list[Fault] = []
    given = _documents(others)

    def ruled(under: Conventions) -> tuple[Evidence, list[Finding], list[Finding]]:
        evidence = _evidence(path, text, roots, under, given, share)
        raised, found = _ruled(evidence, counts, faults)
        return evidence, raised, [at_home(finding, str(path)) for finding in found]

    evidence, raised, found = ruled(replace(conventions, witness=None))
    if conventions.saw(path):
        found = list(joined(found, ruled(conventions)[2], SHOWN))
    if is_blamed and "forward" in text:
        found = list(joined(found, ruled(replace(conventions, witness=None, trains_modules=True))[2], TRAINED))
    ordered = sorted(found, key=lambda f: (f.path, f.span.start, f.code, f.span.end))
    asked, unasked = tuple(filter(counts, ordered)), tuple(itertools.filterfalse(counts, ordered))
    told = {(finding.code, finding.path, finding.span) for finding in found}
    refuted = tuple(place for place in dict.fromkeys(_refuted(evidence, str(path))) if place not in told)
    usual = glimpse_of(evidence.tape, raised) if not is_blamed and not conventions.saw(path) else None
    unfinished, health = _unfinished(evidence.tape), health_of(evidence.tape)
    made = Analysis(asked, unasked, tuple(faults), unfinished, health, refuted, _steps(evidence, told), usual)
    evidence.let_go()
    return made


def glimpse(
    path: Path,
    text: str,
    roots: tuple[Path, ...],
    conventions: Conventions,
    others: Mapping[Path, str],
    entries: Sequence[tuple[str, str]],
) -> Glimpse | None:
    """What the program does as these entries of it usually go; None where a rule raises. Else as `analyse`."""
    with adding(conventions.rows):
        return _forgotten(lambda: _glimpsed(path, text, roots, conventions, others, entries))


def _glimpsed(
    path: Path, text: str, roots: tuple[Path, ...], conventions: Conventions, others: Mapping[Path, str], entries: Sequence[tuple[str, str]]
) -> Glimpse | None:
    from graphfix.analysis.entries import EntryKind, EntryPoint
    from graphfix.codemods import RULES

    only = [EntryPoint(EntryKind[kind], name) for kind, name in entries]
    evidence = _evidence(path, text, roots, conventions, _documents(others), only=only)
    told: list[Finding] = []
    faults: list[Fault] = []
    for rule in RULES:
        _guarded(rule.code, lambda rule=rule: rule.find(evidence), told, faults)
    made = glimpse_of(evidence.tape, told) if not faults else None
    evidence.let_go()
    return made


def _documents(others: Mapping[Path, str]) -> dict[Path, Document]:
    from graphfix.source.document import Document

    return {Path(os.path.realpath(other)): Document(str(other), content, other.stem) for other, content in others.items()}


def _steps(evidence: Evidence, told: Collection[object]) -> int:
    """What an analysis took: the steps of its runs, and, where something was told, those that asking all of its files is worth."""
    tape = evidence.tape
    letters = sum(len(document.text) for document in (tape.document, *tape.documents)) if told else 0
    return sum(each.steps for each in tape.interpreters) + letters // LETTERS_OF_A_STEP


def _refuted(evidence: Evidence, main: str) -> Iterator[Refuted]:
    """Where the program shows that findings are none."""
    from graphfix.codemods import RULES

    for rule in RULES:
        for span in rule.refuted(evidence):
            yield rule.code, span.path or main, replace(span, path="")


def _evidence(
    path: Path, text: str, roots: tuple[Path, ...], conventions: Conventions, given: Mapping[Path, Document],
    share: int | None = None, only: Sequence[EntryPoint] | None = None,
) -> Evidence:
    """What the runs over a program are asked by rules; `only`: that of these entries, as they usually go."""
    from graphfix.analysis.contributors import Facts
    from graphfix.analysis.evidence import Evidence
    from graphfix.analysis.explore import Explorer
    from graphfix.codemods import RULES
    from graphfix.interpreter.imports import main_document

    explorer = Explorer(main_document(path, text), roots or (path.parent,), conventions, given)
    if not is_relevant(text):
        explorer.look_briefly()
    explorer.look_within(share)
    if only is not None:
        explorer.look_once(only)
    try:
        tape = explorer.explore()
    except TooDear:
        explorer.tape.let_go()
        raise
    return Evidence(tape, Facts(tape), tuple(rule.cuts for rule in RULES))


def _ruled(evidence: Evidence, counts: Callable[[Finding], bool], faults: list[Fault]) -> tuple[list[Finding], list[Finding]]:
    """What each rule finds, and that as far as the flow bears it out where it counts; with each finding those that tell its fault better."""
    from graphfix.codemods import RULES

    told: list[Finding] = []
    found: list[Finding] = []
    for rule in RULES:
        made: list[Finding] = []
        _guarded(rule.code, lambda rule=rule: rule.find(evidence), made, faults)
        _guarded(rule.code, lambda rule=rule, made=made: _with_repairs(evidence, rule, made, counts, faults), found, faults)
        told += made
    known = set(map(key_of, found))
    contradicted = [finding for finding in told if key_of(finding) not in known]
    # what does not count is not shown, so that it takes nothing away
    return told, [*_settled(evidence, filter(counts, found), contradicted), *map(plain, itertools.filterfalse(counts, found))]


def _with_repairs(
    evidence: Evidence, rule: Rule, findings: list[Finding], counts: Callable[[Finding], bool], faults: list[Fault]
) -> Iterator[Finding]:
    """Those of a rule's findings that the flow bears out; where one counts and has no safe fix, with one that a search finds.

    A search that raises is one of the `faults`, and costs no finding.
    """

    def is_left(after: Evidence) -> bool:
        return len(list(rule.find(after))) >= len(findings)

    for finding in _borne_out(evidence, findings, counts):
        repaired: list[Finding] = []
        count = len(faults)
        if counts(finding) and _is_searched(finding):
            _guarded(rule.code, lambda finding=finding: _repaired(evidence, finding, is_left), repaired, faults)
            failed = replace(finding, unfixed=finding.unfixed or "the search for a repair has failed")
            yield from repaired if len(faults) == count else (failed,)
        else:
            yield finding


def _is_searched(finding: Finding) -> bool:
    """Whether a repair is searched: where there is no safe one, and something shows what a trial is to end."""
    from graphfix.analysis.subject import Draft

    if not isinstance(finding, Draft) or finding.fix is not None and finding.fix.applicability is Applicability.SAFE:
        return False
    return finding.shown_by is not None or finding.fix is None and bool(finding.subject.targets)


def _repaired(evidence: Evidence, finding: Finding, is_left: Callable[[Evidence], bool]) -> Iterator[Finding]:
    """The finding with the repair that a search finds, or why there is none; none where the flow contradicts it."""
    from graphfix.analysis.subject import Draft
    from graphfix.repair.choice import chosen

    if isinstance(finding, Draft):
        yield from chosen(evidence, finding, is_left)


def _settled(evidence: Evidence, found: Iterable[Finding], contradicted: Iterable[Finding] = ()) -> list[Finding]:
    """The findings by what they yield to, without those that would tell again what the flow has contradicted."""
    from graphfix.codemods import RULES

    first = {rule.code: rule.yields_to for rule in RULES}
    left = without_contradicted(list(found), list(contradicted), first)

    def is_silenced(finding: Finding) -> bool:
        return suppressions(evidence.program.named(finding.span.path).text).silences(finding)

    return settled(left, first, is_silenced)


def _borne_out(evidence: Evidence, findings: list[Finding], counts: Callable[[Finding], bool]) -> Iterator[Finding]:
    """Those that count as far as the flow bears them out, and the others, which take a place all the same."""
    asked = list(filter(counts, findings))
    if asked:
        from graphfix.obligations.proof import proven

        yield from proven(evidence, asked)
    yield from itertools.filterfalse(counts, findings)


def by_run(finding: Finding) -> bool:
    """Whether only a traced run has shown it."""
    return any(label.message == SHOWN for label in finding.story)


def by_failure(finding: Finding) -> bool:
    """Whether only a failed run lets it be told: `check` would not tell it."""
    return any(label.message == TRAINED for label in finding.story)


def joined(found: list[Finding], shown: list[Finding], how: str) -> Iterator[Finding]:
    """What was found, and what more a run has `shown`: as it did in that run only, no fix is safe by it. `how`: what tells of that."""
    repairable = {key_of(finding) for finding in shown if finding.fix is not None}
    kept = [finding for finding in found if finding.fix is not None or key_of(finding) not in repairable]
    yield from kept
    known = set(map(key_of, kept))
    for finding in shown:
        if key_of(finding) not in known:
            label = Label(finding.path, finding.span, how)
            repair = finding.fix
            yield replace(finding, story=(*finding.story, label), fix=repair.doubted(how) if repair is not None else None)


def key_of(finding: Finding) -> tuple[str, str, Span, str]:
    return finding.path, finding.code, finding.span, finding.message


def _guarded(code: str, find: Callable[[], Iterable[Any]], found: list[Any], faults: list[Fault]) -> None:
    """Take in all findings of one rule, or none and its fault: the other rules go on."""
    try:
        found.extend(list(find()))
    except Exception as error:  # whatever it is, it costs this rule
        faults.append(Fault(code, error))


def _unfinished(tape: Tape) -> str:
    return "the analysis budget ran out" if tape.truncated and not tape.is_brief else ""

"""One file through the analysis: program, tape, findings."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.model import Finding, Label, Span
from graphfix.models.words import spelled_by_code
from graphfix.run.collection import uncollected
from graphfix.run.precedence import plain, settled, told_once, without_contradicted
from graphfix.run.selection import every
from graphfix.run.suppression import suppressions

if TYPE_CHECKING:
    from graphfix.analysis.evidence import Evidence
    from graphfix.analysis.explore import Tape
    from graphfix.analysis.told_by_callers import CallerEvidence
    from graphfix.autograd.health import Health


SHOWN = "only a traced run shows the types of these values"
TRAINED = "only the failed run shows that backward() goes through the result of this module"


@dataclass(frozen=True)
class Fault:
    """A rule (by its code) that raised, which costs its findings in this file: a fault of graphfix."""

    code: str
    error: Exception


@dataclass(frozen=True)
class Analysis:
    """The findings of one file in source order, also those whose fault others tell better (`told_once`).

    `unfinished`: why the analysis ended early, so that some may be missing.
    `unasked`: the findings that do not count, whose fixes are not proven.
    """

    findings: tuple[Finding, ...] = ()
    unasked: tuple[Finding, ...] = ()
    faults: tuple[Fault, ...] = ()
    unfinished: str = ""
    health: Health | None = None


def is_relevant(text: str) -> bool:
    """Whether the text spells anything that the tape could follow; refused here, a file is not even parsed."""
    return spelled_by_code(text.encode("utf-8", "surrogatepass"))


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
) -> Analysis:
    """What is wrong in the file `path` with content `text`.

    `roots` are the folders of the project, in which imports are followed; nothing is imported or executed for real.
    `conventions`: what the project's settings say of its own functions. `counts`: which findings are worth a proof.
    Raises `SourceError` where `text` does not parse.
    """
    if not (is_relevant(text) or conventions.spelled_in(text) or conventions.saw(path)):
        return Analysis()
    return _forgotten(lambda: _analysed(path, text, roots, conventions, counts, is_blamed=False))


def analyse_blamed(
    path: Path, text: str, roots: tuple[Path, ...], conventions: Conventions, counts: Callable[[Finding], bool] = every
) -> Analysis:
    """As `analyse`, for a file in which a run has failed, or in what it imports.

    Whatever other files do with it is looked at, also where it spells nothing by itself that the tape could follow; the results of its
    modules go backward, whoever does that.
    """
    return _forgotten(lambda: _analysed(path, text, roots, conventions, counts, is_blamed=True))


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
    *,
    is_blamed: bool,
) -> Analysis:
    from graphfix.analysis.health import health_of
    from graphfix.analysis.told_by_callers import caller_evidence

    faults: list[Fault] = []
    evidence = _evidence(path, text, roots, replace(conventions, witness=None))
    found = _ruled(evidence, counts, faults)
    tape = evidence.tape
    seen: list[CallerEvidence] = []
    _guarded("callers", lambda: caller_evidence(tape, evidence.cuts, all_functions=is_blamed), seen, faults)
    for callers in seen:
        _guarded("callers", lambda callers=callers: _shown(callers, found), found, faults)
        found = [finding for finding in found if not _refuted(callers, finding)]
    if conventions.saw(path):
        found = list(joined(found, _ruled(_evidence(path, text, roots, conventions), counts, faults), SHOWN))
    if is_blamed and "forward" in text:
        trained = replace(conventions, witness=None, trains_modules=True)
        found = list(joined(found, _ruled(_evidence(path, text, roots, trained), counts, faults), TRAINED))
    ordered = sorted(found, key=lambda f: (f.span.start, f.code, f.span.end))
    asked, unasked = tuple(filter(counts, ordered)), tuple(itertools.filterfalse(counts, ordered))
    made = Analysis(asked, unasked, tuple(faults), _unfinished(tape), health_of(tape))
    for each in (evidence, *seen):
        each.let_go()
    return made


def _shown(callers: CallerEvidence, known: list[Finding]) -> list[Finding]:
    """What only callers in other files show."""
    from graphfix.analysis.told_by_callers import told_by_callers
    from graphfix.codemods import RULES

    def find(evidence: Evidence) -> list[Finding]:
        found = [finding for rule in RULES if rule.witnessed for finding in rule.find(evidence)]
        return told_once(_settled(evidence, found))

    return list(told_by_callers(callers, known, [find]))


def _refuted(callers: CallerEvidence, finding: Finding) -> bool:
    """Whether a caller in another file shows that a finding is none."""
    from graphfix.codemods import RULES

    return any(rule.code == finding.code and rule.refuted(callers, finding) for rule in RULES)


def _evidence(path: Path, text: str, roots: tuple[Path, ...], conventions: Conventions) -> Evidence:
    from graphfix.analysis.contributors import Facts
    from graphfix.analysis.evidence import Evidence
    from graphfix.analysis.explore import Explorer
    from graphfix.codemods import RULES
    from graphfix.source.document import Document

    tape = Explorer(Document(str(path), text), roots or (path.parent,), conventions).explore()
    return Evidence(tape, Facts(tape), tuple(rule.cuts for rule in RULES))


def _ruled(evidence: Evidence, counts: Callable[[Finding], bool], faults: list[Fault]) -> list[Finding]:
    """What each rule finds, and the flow bears out where it counts; with each finding those that tell its fault better."""
    from graphfix.codemods import RULES

    told: list[Finding] = []
    found: list[Finding] = []
    for rule in RULES:
        made: list[Finding] = []
        _guarded(rule.code, lambda rule=rule: rule.find(evidence), made, faults)
        _guarded(rule.code, lambda made=made: _borne_out(evidence, made, counts), found, faults)
        told += made
    known = set(map(key_of, found))
    contradicted = [finding for finding in told if key_of(finding) not in known]
    # what does not count is not shown, so that it takes nothing away
    return [*_settled(evidence, filter(counts, found), contradicted), *map(plain, itertools.filterfalse(counts, found))]


def _settled(evidence: Evidence, found: Iterable[Finding], contradicted: Iterable[Finding] = ()) -> list[Finding]:
    """The findings by what they yield to, without those that would tell again what the flow has contradicted."""
    from graphfix.codemods import RULES

    first = {rule.code: rule.yields_to for rule in RULES}
    left = without_contradicted(list(found), list(contradicted), first)
    return settled(left, first, suppressions(evidence.document.text).silences)


def _borne_out(evidence: Evidence, findings: list[Finding], counts: Callable[[Finding], bool]) -> Iterator[Finding]:
    """Those that count as far as the flow bears them out, and the others, which take a place all the same."""
    asked = list(filter(counts, findings))
    if asked:
        from graphfix.repairs.proof import proven

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


def key_of(finding: Finding) -> tuple[str, Span, str]:
    return finding.code, finding.span, finding.message


def _guarded(code: str, find: Callable[[], Iterable[Any]], found: list[Any], faults: list[Fault]) -> None:
    """Take in all findings of one rule, or none and its fault: the other rules go on."""
    try:
        found.extend(list(find()))
    except Exception as error:  # whatever it is, it costs this rule
        faults.append(Fault(code, error))


def _unfinished(tape: Tape) -> str:
    return "the analysis budget ran out" if tape.truncated else ""

"""Fixes until nothing is left to fix: each pass applies what it can, and its result must parse."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Fix
from graphfix.source.homes import changed_by

if TYPE_CHECKING:
    from graphfix.run.engine import Fault
    from graphfix.run.texts import Texts

MAX_PASSES = 10


TURNING = "applying it again and again never ends"
# a rule, and where the code that it blames starts in the text before all passes
Place = tuple[str, int]
EVERYWHERE = -1
MAX_CIRCLES = 3


def here(finding: Finding) -> Finding:
    """The finding with that part of its fix which changes its own file."""
    operations = changed_by(finding).get(finding.path, ())
    return finding if finding.fix is None else replace(finding, fix=replace(finding.fix, operations=operations))


class Circle(Exception):
    """Fixes that undo one another, or never come to rest: those at these places."""

    def __init__(self, places: frozenset[Place]) -> None:
        super().__init__(places)
        self.places = places


class Filter(Protocol):
    """Which findings count, and which of their fixes are applied."""

    def counts(self, text: str) -> Callable[[Finding], bool]:
        """Which findings of a text are worth a proof: those that count but for the comments in it, at least."""

    def visible(self, text: str, findings: Sequence[Finding]) -> list[Finding]:
        """The findings that count."""

    def applies(self, fix: Fix | None) -> bool:
        """Whether the fix is applied."""


@dataclass(frozen=True)
class Step:
    """One pass: the text that it began with, all findings there that its analysis tells, and those that it fixed.

    `foreign`: of findings in other files that it fixed, what their fixes have done here.
    """

    text: str
    fixed: tuple[Finding, ...]
    found: tuple[Finding, ...] = ()
    foreign: tuple[Finding, ...] = ()

    @property
    def made(self) -> tuple[Finding, ...]:
        """All that the pass fixed, as far as it changes the text."""
        own = (here(finding) for finding in self.fixed)
        return tuple(finding for finding in (*own, *self.foreign) if finding.fix is not None and finding.fix.operations)


@dataclass(frozen=True)
class Repaired:
    """The text at rest. `left` lies in `text`; `fixed` lies in the text of the pass that fixed it.

    `found`: all findings in `text` that its analysis tells.
    `faults` and `unfinished`: of the analysis of any of the texts. `harmful`: the fixes that made a run worse when they were
    tried, with the reason.
    """

    text: str
    fixed: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    refused: tuple[tuple[Finding, str], ...] = ()
    broken: tuple[tuple[Finding, str], ...] = ()
    passes: int = 0
    steps: tuple[Step, ...] = ()
    found: tuple[Finding, ...] = ()
    faults: tuple[Fault, ...] = ()
    unfinished: str = ""
    harmful: tuple[tuple[Fix, str], ...] = ()


@dataclass(frozen=True)
class _Pass:
    text: str
    applied: tuple[Fix, ...]
    refused: tuple[tuple[Fix, str], ...]
    broken: tuple[Fix, ...]


def repair(texts: Texts, text: str, wanted: Filter, *, looks_ahead: bool = False) -> Repaired:
    """Apply the wanted fixes of `text`, one of the `texts` of its file, until a pass changes nothing.

    `looks_ahead`: only to see what further passes would find and fix: it ends where the usual runs of the result show nothing new, with
    nothing `left` or `found`.

    The fixes of a pass are tried together: where the runs of the result are worse than those before, the fixes that make them so
    are found by halving and left out. So are those that undo one another or never come to rest: then all begins anew without them.
    """
    turning: frozenset[Place] = frozenset()
    for number in itertools.count():
        try:
            return _come_to_rest(texts, text, wanted, turning, looks_ahead=looks_ahead)
        except Circle as circle:
            # edits that move what they repair turn at another place each time: then all fixes of that rule are left out
            turning |= circle.places if number < MAX_CIRCLES else {(code, EVERYWHERE) for code, _ in circle.places}
    raise AssertionError("unreachable")


def _come_to_rest(texts: Texts, text: str, wanted: Filter, turning: frozenset[Place], *, looks_ahead: bool) -> Repaired:
    """As `repair`, without the fixes at the places `turning`; raises `Circle` with further ones."""
    seen = {text}
    steps: list[Step] = []
    faults: dict[str, Fault] = {}
    unfinished = ""
    harmful: dict[Fix, str] = {}
    now = texts.analysed(text, wanted.counts(text))
    for number in range(MAX_PASSES + 1):
        faults.update((fault.code, fault) for fault in now.faults)
        unfinished = unfinished or now.unfinished
        left = wanted.visible(text, now.findings)
        fixable = [finding for finding in left if wanted.applies(finding.fix)]
        harmful.update(_turning(steps[0].text if steps else text, text, fixable, turning))
        fixes = _asked_first([finding for finding in fixable if finding.fix not in harmful])
        ahead = _seen_ahead(texts, text, fixable, fixes, wanted) if looks_ahead else None
        if ahead is not None:
            passes = (*steps, ahead[1])
            return Repaired(
                ahead[0], _fixed_in(passes), passes=number, steps=passes, faults=tuple(faults.values()), unfinished=unfinished,
                harmful=tuple(harmful.items()),
            )  # fmt: skip
        done = _tried(texts, text, fixes, wanted, harmful)
        if done.text == text:  # what the others wait for comes to nothing
            done = _tried(texts, text, [f.fix for f in fixable if f.fix is not None and f.fix not in harmful], wanted, harmful)
        if done.text == text:
            refused = (*_refused(fixable, done), *((f, harmful[f.fix]) for f in fixable if f.fix in harmful))
            broken = _broken(fixable, done)
            return Repaired(
                text, _fixed_in(steps), tuple(left), refused, broken, number, tuple(steps), now.findings, tuple(faults.values()), unfinished,
                tuple(harmful.items()),
            )  # fmt: skip
        applied = set(done.applied)
        steps.append(Step(text, tuple(finding for finding in fixable if finding.fix in applied), now.findings))
        if done.text in seen:
            break
        seen.add(done.text)
        text = done.text
        now = texts.analysed(text, wanted.counts(text))
    raise Circle(_fixed_again(steps))


def _turning(original: str, text: str, fixable: Sequence[Finding], turning: frozenset[Place]) -> Iterator[tuple[Fix, str]]:
    """The fixes in `text`, a pass over the `original`, that undo one another or never come to rest."""
    for finding in fixable if turning else ():
        place = place_of(original, text, finding)
        if finding.fix is not None and not turning.isdisjoint((place, (place[0], EVERYWHERE))):
            yield finding.fix, TURNING


def _fixed_in(steps: Sequence[Step]) -> tuple[Finding, ...]:
    return tuple(finding for step in steps for finding in step.fixed)


def _seen_ahead(texts: Texts, text: str, fixable: Sequence[Finding], fixes: Sequence[Fix], wanted: Filter) -> tuple[str, Step] | None:
    """The text that fixes make, and the pass, where its usual runs show that no further one follows; None where more has to be asked."""
    done = _one_pass(texts, text, fixes)
    applied = set(done.applied)
    fixed = tuple(finding for finding in fixable if finding.fix in applied)
    if done.text == text or len(fixed) < len(fixable) or not texts.is_settled(text, done.text, fixed, wanted.counts(text)):
        return None
    return done.text, Step(text, fixed, texts.analysed(text, wanted.counts(text)).findings)


def _asked_first(fixable: Sequence[Finding]) -> list[Fix]:
    """The fixes of those findings that no other of these fixes ends: whether a finding is still there then is asked in the next pass."""
    made = {(finding.code, finding.span) for finding in fixable}
    return [finding.fix for finding in fixable if finding.fix is not None and made.isdisjoint(finding.ended_by)]


def place_of(original: str, text: str, finding: Finding) -> Place:
    """What a finding in `text` is known by in all passes over the `original`."""
    from graphfix.rewrite.origin import original_span

    return finding.code, original_span(original, text, finding.span).start


def _fixed_again(steps: Sequence[Step]) -> frozenset[Place]:
    """Where more than one pass has put a fix in; where none has, all places of the last pass."""
    places = [[place_of(steps[0].text, step.text, finding) for finding in step.fixed] for step in steps]
    passes = Counter(place for fixed in places for place in set(fixed))
    return frozenset(place for place, number in passes.items() if number > 1) or frozenset(places[-1])


def _tried(texts: Texts, text: str, fixes: Sequence[Fix], wanted: Filter, harmful: dict[Fix, str]) -> _Pass:
    """The pass of those fixes that together make no run worse; the others are added to `harmful`, each with the reason."""
    done = _one_pass(texts, text, fixes)
    if done.text == text:
        return done
    now, after = (texts.analysed(each, wanted.counts(each)).health for each in (text, done.text))
    reason = after.worse_than(now) if after is not None and now is not None else ""
    if not reason:
        return done
    if len(fixes) == 1:
        harmful[fixes[0]] = f"with it, {reason}"
        return _Pass(text, (), done.refused, ())
    middle = len(fixes) // 2
    halves = [_tried(texts, text, half, wanted, harmful) for half in (fixes[:middle], fixes[middle:])]
    rest = [fix for fix in fixes if fix not in harmful]
    if len(rest) < len(fixes):
        return _tried(texts, text, rest, wanted, harmful)
    # each half is sound and both together are not: the second half waits for the next pass
    return halves[0]


def _one_pass(texts: Texts, text: str, fixes: Sequence[Fix]) -> _Pass:
    if not fixes:
        return _Pass(text, (), (), ())
    made = texts.applied(text, fixes)
    if made.parses:
        return _Pass(made.text, made.applied, made.refused, ())
    if len(fixes) == 1:
        return _Pass(text, (), (), (fixes[0],))
    return _bisected(texts, text, fixes)


def _bisected(texts: Texts, text: str, fixes: Sequence[Fix]) -> _Pass:
    """The pass without the fixes that break the syntax, found by halving."""
    middle = len(fixes) // 2
    halves = [_one_pass(texts, text, fixes[:middle]), _one_pass(texts, text, fixes[middle:])]
    broken = tuple(fix for half in halves for fix in half.broken)
    sound = [fix for fix in fixes if fix not in broken]
    if broken:
        rest = _one_pass(texts, text, sound)
        return _Pass(rest.text, rest.applied, rest.refused, broken + rest.broken)
    # each half is sound and both together are not: the second half waits for the next pass
    return halves[0]


def _refused(fixable: Sequence[Finding], done: _Pass) -> tuple[tuple[Finding, str], ...]:
    reasons = dict(done.refused)
    return tuple((finding, reasons[finding.fix]) for finding in fixable if finding.fix in reasons)


def _broken(fixable: Sequence[Finding], done: _Pass) -> tuple[tuple[Finding, str], ...]:
    broken = set(done.broken)
    return tuple((finding, "the fixed code does not parse") for finding in fixable if finding.fix in broken)

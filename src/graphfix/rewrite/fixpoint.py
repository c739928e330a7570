"""Fixes until nothing is left to fix: each pass applies what it can, and its result must parse."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from graphfix.interpreter.conventions import Conventions
from graphfix.model import Finding, Fix
from graphfix.source.guard import parses

if TYPE_CHECKING:
    from graphfix.run.engine import Analysis, Fault

MAX_PASSES = 10


TURNING = "applying it again and again never ends"
# a rule, and where the code that it blames starts in the text before all passes
Place = tuple[str, int]
EVERYWHERE = -1
MAX_CIRCLES = 3


class Circle(Exception):
    """Fixes that undo one another, or never come to rest: those at these places."""

    def __init__(self, places: frozenset[Place]) -> None:
        super().__init__(places)
        self.places = places


class Filter(Protocol):
    """Which findings count, and which of their fixes are applied."""

    @property
    def conventions(self) -> Conventions:
        """What the project says of its own code."""

    def counts(self, text: str) -> Callable[[Finding], bool]:
        """Which findings of a text are worth a proof: those that count but for the comments in it, at least."""

    def visible(self, text: str, findings: Sequence[Finding]) -> list[Finding]:
        """The findings that count."""

    def applies(self, fix: Fix | None) -> bool:
        """Whether the fix is applied."""


@dataclass(frozen=True)
class Step:
    """One pass: the text that it began with, all findings there that its analysis tells, and those that it fixed."""

    text: str
    fixed: tuple[Finding, ...]
    found: tuple[Finding, ...] = ()


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


def repair(path: Path, text: str, roots: tuple[Path, ...], wanted: Filter, analysis: Analysis | None = None) -> Repaired:
    """Apply the wanted fixes of `text` until a pass changes nothing. `analysis`: that of `text`, if known.

    The fixes of a pass are tried together: where the runs of the result are worse than those before, the fixes that make them so
    are found by halving and left out. So are those that undo one another or never come to rest: then all begins anew without them.
    """
    turning: frozenset[Place] = frozenset()
    for number in itertools.count():
        try:
            return _come_to_rest(path, text, roots, wanted, analysis, turning)
        except Circle as circle:
            # edits that move what they repair turn at another place each time: then all fixes of that rule are left out
            turning |= circle.places if number < MAX_CIRCLES else {(code, EVERYWHERE) for code, _ in circle.places}
    raise AssertionError("unreachable")


def _come_to_rest(
    path: Path, text: str, roots: tuple[Path, ...], wanted: Filter, analysis: Analysis | None, turning: frozenset[Place]
) -> Repaired:
    """As `repair`, without the fixes at the places `turning`; raises `Circle` with further ones."""
    from graphfix.run.engine import analyse

    def analysed(text: str) -> Analysis:
        return analyse(path, text, roots, wanted.conventions, wanted.counts(text))

    seen = {text}
    steps: list[Step] = []
    faults: dict[str, Fault] = {}
    unfinished = ""
    harmful: dict[Fix, str] = {}
    now = analysis if analysis is not None else analysed(text)
    for number in range(MAX_PASSES + 1):
        faults.update((fault.code, fault) for fault in now.faults)
        unfinished = unfinished or now.unfinished
        left = wanted.visible(text, now.findings)
        fixable = [finding for finding in left if wanted.applies(finding.fix)]
        for finding in fixable if turning else ():
            place = place_of(steps[0].text if steps else text, text, finding)
            if finding.fix is not None and not turning.isdisjoint((place, (place[0], EVERYWHERE))):
                harmful[finding.fix] = TURNING
        tried = _tried(text, [f.fix for f in fixable if f.fix is not None and f.fix not in harmful], now, analysed, harmful)
        done = tried.done
        if done.text == text:
            fixed = tuple(finding for step in steps for finding in step.fixed)
            refused = (*_refused(fixable, done), *((f, harmful[f.fix]) for f in fixable if f.fix in harmful))
            broken = _broken(fixable, done)
            return Repaired(
                text, fixed, tuple(left), refused, broken, number, tuple(steps), now.findings, tuple(faults.values()), unfinished,
                tuple(harmful.items()),
            )  # fmt: skip
        applied = set(done.applied)
        steps.append(Step(text, tuple(finding for finding in fixable if finding.fix in applied), now.findings))
        if done.text in seen:
            break
        seen.add(done.text)
        text = done.text
        now = tried.analysis if tried.analysis is not None else analysed(text)
    raise Circle(_fixed_again(steps))


def place_of(original: str, text: str, finding: Finding) -> Place:
    """What a finding in `text` is known by in all passes over the `original`."""
    from graphfix.rewrite.origin import original_span

    return finding.code, original_span(original, text, finding.span).start


def _fixed_again(steps: Sequence[Step]) -> frozenset[Place]:
    """Where more than one pass has put a fix in; where none has, all places of the last pass."""
    places = [[place_of(steps[0].text, step.text, finding) for finding in step.fixed] for step in steps]
    passes = Counter(place for fixed in places for place in set(fixed))
    return frozenset(place for place, number in passes.items() if number > 1) or frozenset(places[-1])


@dataclass(frozen=True)
class _Trial:
    """A pass, and the analysis of its text where there is one."""

    done: _Pass
    analysis: Analysis | None


def _tried(
    text: str, fixes: Sequence[Fix], now: Analysis, analysed: Callable[[str], Analysis], harmful: dict[Fix, str]
) -> _Trial:
    """The pass of those fixes that together make no run worse; the others are added to `harmful`, each with the reason."""
    done = _one_pass(text, fixes)
    if done.text == text:
        return _Trial(done, now)
    after = analysed(done.text)
    reason = after.health.worse_than(now.health) if after.health is not None and now.health is not None else ""
    if not reason:
        return _Trial(done, after)
    if len(fixes) == 1:
        harmful[fixes[0]] = f"with it, {reason}"
        return _Trial(_Pass(text, (), done.refused, ()), now)
    middle = len(fixes) // 2
    halves = [_tried(text, half, now, analysed, harmful) for half in (fixes[:middle], fixes[middle:])]
    rest = [fix for fix in fixes if fix not in harmful]
    if len(rest) < len(fixes):
        return _tried(text, rest, now, analysed, harmful)
    # each half is sound and both together are not: the second half waits for the next pass
    return halves[0]


def _one_pass(text: str, fixes: Sequence[Fix]) -> _Pass:
    if not fixes:
        return _Pass(text, (), (), ())
    from graphfix.rewrite import apply_fixes

    applied = apply_fixes(text, fixes)
    if applied.text == text or parses(applied.text):
        return _Pass(applied.text, tuple(applied.applied), tuple(applied.refused), ())
    if len(fixes) == 1:
        return _Pass(text, (), (), (fixes[0],))
    return _bisected(text, fixes)


def _bisected(text: str, fixes: Sequence[Fix]) -> _Pass:
    """The pass without the fixes that break the syntax, found by halving."""
    middle = len(fixes) // 2
    halves = [_one_pass(text, fixes[:middle]), _one_pass(text, fixes[middle:])]
    broken = tuple(fix for half in halves for fix in half.broken)
    sound = [fix for fix in fixes if fix not in broken]
    if broken:
        rest = _one_pass(text, sound)
        return _Pass(rest.text, rest.applied, rest.refused, broken + rest.broken)
    # each half is sound and both together are not: the second half waits for the next pass
    return halves[0]


def _refused(fixable: Sequence[Finding], done: _Pass) -> tuple[tuple[Finding, str], ...]:
    reasons = dict(done.refused)
    return tuple((finding, reasons[finding.fix]) for finding in fixable if finding.fix in reasons)


def _broken(fixable: Sequence[Finding], done: _Pass) -> tuple[tuple[Finding, str], ...]:
    broken = set(done.broken)
    return tuple((finding, "the fixed code does not parse") for finding in fixable if finding.fix in broken)

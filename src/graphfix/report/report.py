"""Counts outcomes and words what is said of them: exit code, diagnostics and summary."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Finding
from graphfix.report.escape import as_argument, escaped, typed
from graphfix.run.outcome import Outcome, Status
from graphfix.run.selection import UnknownCode, parse_codes
from graphfix.source.lines import shown_cell
from graphfix.source.quote import is_word

if TYPE_CHECKING:
    from graphfix.report.text import Line

SHORT = 80  # characters of several paths that are typed once more; beyond them, one file is a beginning
FEW = 5  # names in a line
MANY = 10  # lines of one kind, such as suppressions that silence nothing


@dataclass
class Report:
    """All outcomes of one run, in order.

    `strict`: an unused suppression counts as a finding. `whole`: a file not analysed to the end counts as a failure.
    `gone`: entries of the `baseline` for files that are no more. `submodules`: work trees of other repositories that were left alone.
    `misset`: settings files that are wrong. `empty`: folders without any Python file or notebook. `lost`: files of which something could not be written down.
    """

    unsafe: bool = False
    outcomes: list[Outcome] = field(default_factory=list)
    strict: bool = False
    whole: bool = False
    baseline: str = ""
    gone: int = 0
    submodules: tuple[Path, ...] = ()
    misset: list[Outcome] = field(default_factory=list)
    empty: tuple[Path, ...] = ()
    lost: list[tuple[Path, Exception]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Take in the outcome of one more file."""
        self.outcomes.append(outcome)

    @property
    def findings(self) -> list[Finding]:
        """All findings that are (still) there."""
        return [finding for outcome in self.outcomes for finding in outcome.findings]

    @property
    def fixed(self) -> list[Finding]:
        """All findings that fixes took away."""
        return [finding for outcome in self.outcomes for finding in outcome.fixed]

    @property
    def changed(self) -> list[Outcome]:
        """The files that a repair made other bytes of."""
        return [outcome for outcome in self.outcomes if outcome.changed]

    def failed(self) -> bool:
        """Whether anything went wrong: a file not examined or not written, a rule or a fix that broke."""
        return bool(self.lost) or any(outcome.failed or outcome.broken or outcome.faults for outcome in self.outcomes)

    def exit_code(self, *, changes_count: bool) -> int:
        """0 nothing left to do, 1 findings (or pending changes), 2 something failed."""
        if self.failed() or self.whole and any(outcome.unfinished for outcome in self.outcomes):
            return 2
        pending = changes_count and bool(self.changed)
        unused = self.strict and any(outcome.unused for outcome in self.outcomes)
        return 1 if self.findings or pending or unused else 0

    def problems(self) -> Iterator[str]:
        """One line for every file that was not examined or not written, and for every rule and every fix that broke."""
        yield from map(problem, self.misset[:MANY])
        if len(self.misset) > MANY:
            yield f"{count(len(self.misset) - MANY, 'more settings file')} that cannot be read: what lies beside and below is left out"
        told = {outcome.path for outcome in self.misset}
        for outcome in self.outcomes:
            if outcome.failed and outcome.path not in told:
                yield problem(outcome)
            for code, why in outcome.faults:
                yield f"{escaped(str(outcome.path))}: internal error: {code}: {escaped(why)}"
            for finding, reason in outcome.broken:
                yield f"{escaped(str(outcome.path))}: internal error: {finding.code}: {escaped(reason)}"
        for path, error in self.lost:
            yield f"{escaped(str(path))}: internal error: missing from the report: {type(error).__name__}: {escaped(str(error))}"

    def notes(self) -> Iterator[str]:
        """One line for every file not analysed to its end and every suppression that silences nothing, one for a stale baseline.

        One line for each folder without any Python file or notebook and one for all submodules, too.
        """
        for folder in self.empty:
            yield f"warning: no Python files or notebooks under {escaped(str(folder))}"
        for outcome in self.outcomes:
            if outcome.unfinished:
                yield f"{escaped(str(outcome.path))}: {unfinished(outcome)}"
        yield from self._unused()
        stale = self.gone + sum(outcome.stale for outcome in self.outcomes)
        if stale:
            entries = "1 entry" if stale == 1 else f"{stale} entries"
            name = escaped(self.baseline)
            yield f"{name}: {entries} no longer found; update the file with check --write-baseline {name}"
        if self.submodules:
            names = ", ".join(escaped(str(path)) for path in self.submodules[:FEW])
            more = f" and {len(self.submodules) - FEW} more" if len(self.submodules) > FEW else ""
            yield f"skipped: {count(len(self.submodules), 'git submodule')} ({names}{more}); name one to check it"

    def _unused(self) -> Iterator[str]:
        """The first suppressions that silence nothing, one a line, and how many more there are."""
        unused = ((outcome.path, where, code) for outcome in self.outcomes for where, code in outcome.unused)
        for path, where, code in itertools.islice(unused, MANY):
            yield f"{escaped(str(path))}:{where}: unused suppression of {escaped(_named(code))}"
        left = sum(len(outcome.unused) for outcome in self.outcomes) - MANY
        if left > 0:
            yield count(left, "more unused suppression")

    def refusals(self) -> Iterator[str]:
        """One line for every part of a file that was left out, and for every wanted fix that could not be applied."""
        for outcome in self.outcomes:
            if outcome.accepted:
                yield f"{problem(outcome)} (accepted)"
            for reason in outcome.left_out:
                yield f"{escaped(str(outcome.path))}: {escaped(reason)}"
            for finding, reason in outcome.refused:
                yield f"{escaped(str(outcome.path))}: {finding.code} not fixed: {escaped(reason)}"

    def found(self) -> str:
        """The last line of `check`."""
        findings = self.findings
        if not findings:
            head = f"No {'new ' if self._known() else ''}findings"
        else:
            files = sum(1 for outcome in self.outcomes if outcome.findings)
            head = f"Found {count(len(findings), 'finding')} in {count(files, 'file')}{self._fixable(findings)}"
        return f"{head}; {self._checked()}"

    def next_step(self, paths: Sequence[str], seen: Sequence[str] = ()) -> Line:
        """What to type behind `check` on the `paths` with the options `seen`; empty where nothing is left to do."""
        from graphfix.report.text import Piece

        findings = self.findings
        commands = [*(f"graphfix rule {finding.code}" for finding in findings[:1]), *self._to_the_end(paths)]
        if not commands:
            return ()
        wanted = Applicability.SAFE if _fixes(findings, Applicability.SAFE) else Applicability.UNSAFE
        fixed = next((each.path for each in findings if each.fix is not None and each.fix.applicability is wanted), None)
        if fixed is not None:
            options = [] if wanted is Applicability.SAFE else ["--unsafe-fixes"]
            words = typed(*map(as_argument, paths), *seen, *options)
            if len(words) > SHORT and len(paths) > 1:
                words = typed(as_argument(fixed), *seen, *options)
            commands = [f"graphfix diff {words}", f"graphfix apply {words}", *commands]
        parts = [
            Piece(command + ("," if number < len(commands) else ""), whole=True) for number, command in enumerate(commands, 1)
        ]
        return (Piece("Next:"), *(piece for part in parts for piece in (Piece(" "), part)))

    def _to_the_end(self, paths: Sequence[str]) -> Iterator[str]:
        """What shows what an analysis that ended early has not: a run of the file, or the programs that it is shown by."""
        cut = [outcome for outcome in self.outcomes if outcome.unfinished]
        own = next((outcome.path for outcome in cut if ": " not in outcome.unfinished), None)
        if own is not None:
            yield f"graphfix trace {typed(as_argument(str(own)))}"
        elif cut and "." not in paths:
            yield "graphfix check ."

    def repaired(self, *, dry_run: bool) -> str:
        """The last line of `apply` and `diff`."""
        verb = "Would fix" if dry_run else "Fixed"
        changed = self.changed
        if not changed:
            head = "Nothing to fix"
        else:
            head = f"{verb} {count(len(self.fixed), 'finding')} in {count(len(changed), 'file')}"
        left = self.findings
        if left:
            head += f", {count(len(left), 'finding')} left{self._unsafe_hint(left)}"
        return f"{head}; {self._checked()}"

    def so_far(self) -> str:
        """What has been found until now, also where it is repaired by now."""
        return count(len(self.findings) + len(self.fixed), "finding")

    def interrupted(self, written: Iterable[Path]) -> str:
        """What Ctrl-C left behind."""
        names = [escaped(str(path)) for path in written]
        if not names:
            return "Interrupted; no file was written"
        return f"Interrupted; {count(len(names), 'file')} written: {', '.join(names)}"

    def _fixable(self, findings: list[Finding]) -> str:
        safe, unsafe = _fixes(findings, Applicability.SAFE), _fixes(findings, Applicability.UNSAFE)
        if self.unsafe:
            safe, unsafe = safe + unsafe, 0
        parts = [f"{safe} fixable with apply"] if safe else []
        parts += [f"{unsafe} with --unsafe-fixes"] if unsafe else []
        return f" ({', '.join(parts)})" if parts else ""

    def _unsafe_hint(self, findings: list[Finding]) -> str:
        unsafe = 0 if self.unsafe else _fixes(findings, Applicability.UNSAFE)
        return f" ({unsafe} fixable with --unsafe-fixes)" if unsafe else ""

    def _checked(self) -> str:
        known = self._known()
        return extent(self.outcomes) + (f", {known} in the baseline" if known else "")

    def _known(self) -> int:
        return sum(outcome.known for outcome in self.outcomes)


def extent(outcomes: Sequence[Outcome]) -> str:
    """How many files were checked, how many of them not to the end, and what came of the others."""
    accepted = sum(outcome.accepted for outcome in outcomes)
    by_status = {status: sum(outcome.status is status and not outcome.accepted for outcome in outcomes) for status in Status}
    reached = by_status[Status.EXAMINED] + by_status[Status.UNWRITABLE]
    words = {
        Status.UNREADABLE: "could not be read",
        Status.SKIPPED: "skipped",
        Status.UNWRITABLE: "could not be written",
        Status.INTERNAL: "failed inside graphfix",
    }
    cut = sum(bool(outcome.unfinished) for outcome in outcomes)
    parts = [f"{cut} not to the end"] if cut else []
    parts += [f"{by_status[status]} {word}" for status, word in words.items() if by_status[status]]
    parts += [f"{accepted} accepted as unreadable"] if accepted else []
    return ", ".join([f"checked {count(reached, 'file')}", *parts])


def unfinished(outcome: Outcome) -> str:
    """That a file was not analysed to the end, why, and what that means."""
    return f"not analysed to the end: {outcome.unfinished}; findings may be missing"


def problem(outcome: Outcome) -> str:
    """The one diagnostic of a file that did not make it."""
    place = f":{shown_cell(outcome.cell)}{outcome.row}:{outcome.column}" if outcome.row else ""
    where = escaped(str(outcome.path)) + place
    reason = escaped(outcome.reason)
    if outcome.status is Status.SKIPPED:
        return f"{where}: skipped ({reason})"
    if outcome.status is Status.INTERNAL:
        return f"{where}: internal error: {reason}"
    if outcome.status is Status.UNWRITABLE:
        return f"{where}: not written: {reason}"
    return f"{where}: cannot be read: {reason}"


@functools.lru_cache(MANY)
def _named(code: str) -> str:
    """What a suppression says that it silences, and what was perhaps meant where no rule is called so."""
    from graphfix.codemods import CODES, NAMES

    try:
        parse_codes([code], CODES, NAMES)
    except UnknownCode as error:
        return f"{code}: {error}" if is_word(code) else str(error)
    return code or "all rules"


def count(number: int, noun: str, ending: str = "s") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{ending}"


def _fixes(findings: list[Finding], applicability: Applicability) -> int:
    return sum(finding.fix is not None and finding.fix.applicability is applicability for finding in findings)

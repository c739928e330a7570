"""`graphfix apply --verify COMMAND`: fixes stay only where the command runs with them, and computes what it computed before."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.copying import name_links
from graphfix.cli.terminal import ERR
from graphfix.files.place import project_of
from graphfix.lazy_dataclass import dataclass
from graphfix.report.escape import escaped
from graphfix.report.report import count
from graphfix.run.baseline import Baseline
from graphfix.run.examine import Job
from graphfix.run.fingerprint import Mark, marks
from graphfix.run.outcome import Outcome
from graphfix.run.workers import examined_here
from graphfix.verify.backout import Settled, settle
from graphfix.verify.command import BadCommand, Command, parsed
from graphfix.verify.copies import TooLarge
from graphfix.verify.outcome import Shows, failure_of, said, said_of, shown
from graphfix.verify.record import Ending, Run
from graphfix.verify.script import compared_as_far_as_they_go, ends_alike
from graphfix.verify.steady import varies


class NoVerdict(Exception):
    """The command says nothing of the fixes: it does not do the same each time, or has nothing to compare."""


@dataclass(frozen=True)
class Item:
    """One fix (or several that look alike) of a file, by what it is known by."""

    path: Path
    mark: Mark
    row: int

    def __str__(self) -> str:
        return f"{self.path}:{self.row} {self.mark.code}"


@dataclass
class Proof:
    """Runs the command with some of the fixes, and says what is wrong then."""

    command: Command
    job: Job
    changed: Sequence[Outcome]
    items: Sequence[Item]
    before: Run
    quiet: bool = True
    made: dict[tuple[Path, frozenset[Item]], Outcome] = field(default_factory=dict)
    last: Run | None = None
    steady: bool = False  # a second run without fixes was like the first

    def outcomes(self, kept: Sequence[Item]) -> list[Outcome]:
        """The files as they are with the fixes `kept`, and without the others."""
        return [self._outcome(outcome, frozenset(self.items) - frozenset(kept)) for outcome in self.changed]

    def _outcome(self, outcome: Outcome, left: frozenset[Item]) -> Outcome:
        left = frozenset(item for item in left if item.path == outcome.path)
        if not left:
            return outcome
        key = (outcome.path, left)
        if key not in self.made:
            found = examined_here(outcome.path, replace(self.job, baseline=without(self.job.baseline, left)), outcome.before)
            self.made[key] = replace(found, known=outcome.known, stale=outcome.stale)
        return self.made[key]

    def wrong(self, kept: Sequence[Item]) -> str:
        """What is wrong with the fixes `kept`; before the first is blamed, the command shows that it does the same each time."""
        reason = self._wrong(kept)
        if reason:
            self.see_that_it_is_steady()
        return reason

    def see_that_it_is_steady(self) -> None:
        """Run the command without fixes once more; `NoVerdict` where that differs from the first run."""
        if self.steady:
            return
        if not self.quiet:
            ERR.say("it differs with the fixes: running it as it is once more")
        why = varies(self.before, self.command.run({}), numbers=self.command.job is not None)
        if why:
            raise NoVerdict(why)
        self.steady = True

    def codes(self, kept: Sequence[Item]) -> set[str]:
        """The rules that the fixes `kept` are of."""
        return {finding.code for outcome in self.outcomes(kept) for finding in outcome.fixed}

    def _wrong(self, kept: Sequence[Item]) -> str:
        """Where the command failed before, the fixes must only not make it worse."""
        outcomes = self.outcomes(kept)
        changes = {Path(os.path.realpath(outcome.path)): outcome.after for outcome in outcomes if outcome.changed}
        self.last = run = self.command.run(changes)
        codes = self.codes(kept)
        if run.ending is Ending.LATE:
            return f"the command is not at its end after {self.command.limit:g} s"
        failure = failure_of(run)
        if shown(self.before, run) in (Shows.WORSE, Shows.NOTHING):
            return f"the command {said_of(run)}"
        if self.command.job is None:
            return ""  # what a shell prints is no result
        if failure is not None and run.walk_count < self.before.walk_count and not ends_alike(self.before, run, codes):
            return f"the command ends earlier, in {said(failure)}"
        compared = compared_as_far_as_they_go(self.before, run, codes)
        return compared.reason if not compared.equal and compared.compared else ""


def without(known: Baseline | None, items: frozenset[Item]) -> Baseline:
    """A baseline that has `items`, too: what it lists is not fixed."""
    base = known or Baseline(Path("graphfix-refused"))
    files: dict[str, Mapping[Mark, int]] = dict(base.files)
    for item in items:
        name = base.name_of(item.path)
        listed = Counter(files.get(name, {}))
        listed[item.mark] = max(listed[item.mark], 99)  # all that look alike
        files[name] = listed
    return Baseline(base.path, files)


def command_of(text: str, paths: Sequence[Path], limit: float) -> Command:
    """The command, to be run in copies of the project that the paths belong to."""
    projects = {project_of(path) for path in paths}
    here = Path(os.path.realpath(os.curdir))
    if len(projects) == 1:
        project = projects.pop()
    else:
        project = Path(os.path.commonpath([str(project) for project in projects]))
    # a script is named from the working folder: that has to be in the copy
    if not here.is_relative_to(project) and project.is_relative_to(here):
        project = here
    try:
        return parsed(text, project, limit, seed=0)
    except BadCommand as error:
        session.fail(f"--verify: {error}")


def proven(
    outcomes: list[Outcome], job: Job, command: Command, *, quiet: bool, seen: list[Run] | None = None
) -> tuple[list[Outcome], list[tuple[str, str]]]:
    """The outcomes with the fixes that stand, and the refused ones with the reasons; the run without fixes is put into `seen`."""
    changed = [outcome for outcome in outcomes if outcome.changed]
    if not changed:
        return outcomes, []
    items = [item for outcome in changed for item in items_of(outcome, job)]
    try:
        name_links(command.project)
        if not quiet:
            ERR.say(f"running {escaped(command.text)} as it is")
        before = command.run({})
        if before.ending in (Ending.LOST, Ending.KILLED):
            session.fail(f"--verify: {command.text}: {said(before.failure)}")
        if before.ending is Ending.LATE:
            session.fail(f"--verify: {command.text}: not at its end after {command.limit:g} s; --timeout gives it more")
        if not quiet:
            how = "fails" if not before.clean else "passes"
            ERR.say(f"it {how}; running it with {count(len(items), 'fix', 'es')}")
        if seen is not None:
            seen.append(before)
        proof = Proof(command, job, changed, items, before, quiet)
        settled = _only_if_it_passes(settle(items, proof.wrong), proof)
    except NoVerdict as error:
        session.fail(f"--verify: no verdict, and nothing was changed: {error}")
    except TooLarge as error:
        session.fail(f"--verify: {command.project} cannot be copied to run in: {error}")
    _name_untested(settled.kept, proof)
    made = {outcome.path: outcome for outcome in proof.outcomes(settled.kept)}
    return [made.get(outcome.path, outcome) for outcome in outcomes], [(str(item), why) for item, why in settled.refused]


def _only_if_it_passes(settled: Settled[Item], proof: Proof) -> Settled[Item]:
    """All fixes are backed out where the command neither passes with those that are left nor fails for a reason of its own."""
    if not settled.kept or proof.before.clean:
        return settled
    if settled.refused:
        proof.wrong(settled.kept)  # the last run may have been with a set that fell
    failure = failure_of(proof.last) if proof.last is not None else None
    if failure is None or proof.last is None:
        return settled
    codes = proof.codes(settled.kept)
    if ends_alike(proof.before, proof.last, codes):
        if not proof.last.walk_count or not compared_as_far_as_they_go(proof.before, proof.last, codes).equal:
            raise NoVerdict(f"the command fails with and without the fixes: {said(failure)}")
        return settled
    proof.see_that_it_is_steady()
    why = f"the command still ends in {said(failure)}"
    return Settled([], [*settled.refused, *((item, why) for item in settled.kept)], settled.runs)


def _name_untested(kept: Sequence[Item], proof: Proof) -> None:
    """Say which fixes the command says nothing about."""
    if proof.command.job is None:
        return  # a shell does not tell what it runs
    loaded = {*proof.before.loaded, *(proof.last.loaded if proof.last is not None else ())}
    untested = [item for item in kept if os.path.realpath(item.path) not in loaded]
    if untested:
        files = ", ".join(dict.fromkeys(escaped(str(item.path)) for item in untested))
        ERR.say(
            f"graphfix: {count(len(untested), 'fix', 'es')} in files that the command did not load, and does not prove: {files}"
        )


def items_of(outcome: Outcome, job: Job) -> list[Item]:
    """The fixes of a file by what they are known by in its original text."""
    from graphfix.source.decode import decode

    source = decode(outcome.path, outcome.before)
    wanted = job.wanted_for(outcome.path)
    told = job.texts(source.path).analysed(source.text, wanted.counts(source.text))
    found = [f for f in wanted.visible(source.text, told.findings) if wanted.applies(f.fix)]
    index = source.index()
    known = job.baseline.of(outcome.path) if job.baseline is not None else {}
    rows: dict[Mark, int] = {}
    for finding, mark in zip(found, marks(source.text, found), strict=True):
        if mark not in known:
            rows.setdefault(mark, index.place(finding.span.start)[0])
    return [Item(outcome.path, mark, row) for mark, row in rows.items()]

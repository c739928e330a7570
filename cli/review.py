"""`graphfix review`: finding by finding at the terminal; the tree changes only once that is confirmed."""

from __future__ import annotations

import os
import sys
from dataclasses import field
from pathlib import Path

from graphfix.cli import session, undo
from graphfix.cli.exits import ERROR, FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.prompts import Answer, Interview
from graphfix.cli.terminal import ERR, OUT
from graphfix.cli.writing import journal_of, recover, refuses, sweep, write_together
from graphfix.files.together import Change
from graphfix.lazy_dataclass import dataclass
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count
from graphfix.review.decisions import BadProgress, Progress, load, place_of, written
from graphfix.review.review import Review, resumed
from graphfix.review.reviewed import Reviewed
from graphfix.run.outcome import Outcome
from graphfix.source.decode import decode, read_bytes
from graphfix.source.homes import changed_by


@dataclass
class Desk:
    """One sitting: the review, where its progress is kept, and what the files are called by the user."""

    review: Review
    project: Path
    place: Path
    shown: dict[str, Path] = field(default_factory=dict)

    def keep(self, progress: Progress) -> None:
        """Put the progress where the next run finds it; nothing is kept of a review without a decision."""
        if progress.decisions:
            session.store_bytes(self.place, written(progress, self.project))
        else:
            self.place.unlink(missing_ok=True)


def run(options: Options) -> int:
    """Ask about every finding and give the exit code."""
    if options.stdin:
        session.fail("review asks about files: - is not one")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        session.fail("review asks at a terminal, which this is not; diff and apply need none")
    report = Report(options.unsafe)
    try:
        work = session.start(options)
        recover(work)
        sweep(work)
        work.examine(report)
        session.show_problems(report, verbose=options.verbose)
        found = [outcome for outcome in report.outcomes if outcome.findings]
        if not found:
            OUT.say(report.found())
            return report.exit_code(changes_count=False)
        if not options.allow_dirty and refuses(outcome.path for outcome in found):
            return ERROR
        code = _review(found, work, restart=options.restart)
    except KeyboardInterrupt:
        ERR.say("\nInterrupted; nothing was written, your answers are kept: graphfix review goes on from here")
        return INTERRUPTED
    return ERROR if report.failed() else code


def _review(found: list[Outcome], work: session.Session, *, restart: bool) -> int:
    desk = _desk(found, work, restart=restart)
    interview = Interview(desk.review, desk.shown)
    interview.greet()
    while True:
        question = desk.review.question()
        answer = interview.ask(question) if question is not None else None
        if answer is Answer.DECIDED:
            desk.keep(desk.review.progress())
            continue
        again = _write(desk, interview, work, finished=question is None)
        if again is not None:
            return again
        desk.keep(desk.review.progress())


def _desk(found: list[Outcome], work: session.Session, *, restart: bool) -> Desk:
    project = journal_of(work)
    place = _place(project)
    try:
        progress = Progress() if restart else load(place)
    except BadProgress as error:
        session.fail(f"{place}: {error}; --restart forgets it")
    files: dict[str, Reviewed] = {}
    shown: dict[str, Path] = {}
    for outcome in found:
        assert outcome.source is not None
        name = Path(os.path.relpath(os.path.realpath(outcome.path), project)).as_posix()
        files[name], shown[name] = Reviewed(outcome.source, outcome.findings), outcome.path
    for path in _changed_besides(found, work):
        name = Path(os.path.relpath(os.path.realpath(path), project)).as_posix()
        files.setdefault(name, Reviewed(decode(path, read_bytes(path))))
        shown.setdefault(name, path)
    return Desk(resumed(files, work.job, progress), project, place, shown)


def _changed_besides(found: list[Outcome], work: session.Session) -> list[Path]:
    """The files that are looked at and that only fixes of findings in other files change."""
    changed = {path for outcome in found for finding in outcome.findings for path in changed_by(finding)}
    own = {os.path.realpath(outcome.path) for outcome in found}
    return [path for path in work.found.files if os.path.realpath(path) in changed and os.path.realpath(path) not in own]


def _place(project: Path) -> Path:
    """Where the progress is kept; the folder is made, and cleared of what a killed run left in it."""
    from graphfix.files.temporary import sweep as sweep_folders

    place = place_of(project)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        session.fail(f"{place.parent}: progress cannot be kept there: {(error.strerror or str(error)).lower()}")
    sweep_folders([place.parent])
    return place


def _write(desk: Desk, interview: Interview, work: session.Session, *, finished: bool) -> int | None:
    """Write the files if that is confirmed; the exit code, or None where the review goes on."""
    changed = desk.review.changed()
    if changed:
        answer = interview.confirm(len(changed), finished=finished)
        if answer is Answer.UNDONE:
            return None
        if answer is not Answer.CONFIRMED:
            OUT.say("Nothing was written; your answers are kept: graphfix review goes on from here")
            return FINDINGS
        changes = [Change(Path(os.path.realpath(desk.shown[name])), old, new) for name, (old, new) in changed.items()]
        write_together(changes, work)
        OUT.say(f"Wrote {count(len(changed), 'file')}: {', '.join(escaped(str(desk.shown[name])) for name in changed)}")
    desk.keep(desk.review.other if finished else desk.review.progress_once_written())
    left = sum(len(reviewed.findings) for reviewed in desk.review.files.values())
    if not finished:
        OUT.say(f"{count(desk.review.waiting(), 'finding')} to go; graphfix review goes on from here")
    elif left:
        OUT.say(f"{count(left, 'finding')} left")
    for line in undo.ways([desk.shown[name] for name in changed], work):
        OUT.raw(line)
    return FINDINGS if left else OK

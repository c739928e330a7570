"""`graphfix check --add-noqa`: a comment for each finding, on its own line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from graphfix.cli import apply, session, undo
from graphfix.cli.exits import ERROR, INTERRUPTED
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.cli.writing import recover, refuses, sweep
from graphfix.model import Finding
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count
from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome
from graphfix.run.silencing import silenced, with_edits
from graphfix.run.workers import examined_here
from graphfix.source.errors import SourceError, Torn
from graphfix.source.text import Source

PASSES = 5  # what is silenced may bring something else to light


def run(options: Options) -> int:
    """Write the comments and give the exit code: findings that no comment can silence are left."""
    if options.stdin:
        session.fail("--add-noqa cannot be given together with -")
    report = Report(options.unsafe)
    written: list[Path] = []
    try:
        work = session.start(options)
        recover(work)
        sweep(work)
        work.examine(report)
        report.outcomes = [_silenced(outcome, work.job) for outcome in report.outcomes]
        if not options.allow_dirty and refuses(outcome.path for outcome in report.changed):
            return ERROR
        apply.write(report, work, written)
        with quiet_pipe():
            _tell(report, work)
    except KeyboardInterrupt:
        ERR.say(report.interrupted(written))
        return INTERRUPTED
    return report.exit_code(changes_count=False)


def _tell(report: Report, work: session.Session) -> None:
    session.show_problems(report, verbose=work.options.verbose)
    for line in _left(report):
        ERR.say(line)
    if work.options.quiet:
        return
    added = count(sum(len(outcome.fixed) for outcome in report.changed), "finding")
    OUT.say(f"Suppressed {added} in {count(len(report.changed), 'file')}" if report.changed else "Nothing to suppress")
    for line in undo.ways([outcome.path for outcome in report.changed], work):
        OUT.raw(line)


def _left(report: Report) -> Iterator[str]:
    for outcome in report.outcomes:
        for finding in outcome.findings if outcome.source is not None else ():
            where = outcome.source.index().where(finding.span.start) if outcome.source is not None else ""
            yield f"{escaped(finding.path)}:{where}: {finding.code} not suppressed: no comment can stand on its lines"


def _silenced(outcome: Outcome, job: Job) -> Outcome:
    """The outcome once comments silence what they can: `fixed` are the findings that are gone, `findings` those that are left."""
    first, now = outcome, outcome
    for _ in range(PASSES):
        source = _commented(now.source, now.findings) if now.source is not None and now.findings else None
        again = examined_here(outcome.path, job, source.data) if source is not None else None
        # a comment that silences nothing is not worth a change
        if source is None or again is None or again.failed or len(again.findings) >= len(now.findings):
            break
        now = replace(again, source=again.source or source, after=source.data)
    if now is first or first.source is None:
        return first
    return replace(now, before=first.source.data, fixed=first.findings[: len(first.findings) - len(now.findings)])


def _commented(source: Source, findings: tuple[Finding, ...]) -> Source | None:
    """The file with comments for all findings, or for all but those with which it could not be written; None where there are none."""
    for wanted in (findings, *((finding,) for finding in findings)):
        comments = silenced(source.text, wanted)
        try:
            made = source.edited(with_edits(source.text, comments.edits))
        except (SourceError, Torn, UnicodeError):
            continue
        if made.data != source.data:
            return made
    return None

"""`graphfix apply`: repairs in place, all files decided on before the first one is written."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from graphfix.cli import diff, session, undo
from graphfix.cli.exits import ERROR, FINDINGS, INTERRUPTED, OK, without_findings
from graphfix.cli.options import STANDARD_OUTPUT, Options
from graphfix.cli.terminal import ERR, OUT, Screen, quiet_pipe
from graphfix.cli.writing import journal_of, recover, refuses, sweep, write_together
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count
from graphfix.run.outcome import Outcome, Status
from graphfix.source.homes import changed_by


def run(options: Options, screen: Screen = OUT) -> int:
    """Repair, tell it on `screen`, and give the exit code."""
    dry_run, verify = options.dry_run, options.verify
    if verify is not None and (dry_run or options.stdin):
        session.fail(f"--verify cannot be given together with {'--dry-run' if dry_run else '-'}")
    if dry_run and session.shows_prose(options):
        return diff.run(replace(options, patch_file=options.kept_patch).with_streams())
    if options.kept_patch == STANDARD_OUTPUT:
        session.fail("standard output is for what was fixed; --output needs a file, or graphfix diff")
    if options.kept_patch is not None and options.stdin:
        session.fail("--output cannot be given together with -")
    report = Report(options.unsafe, whole=options.strict)
    written: list[Path] = []
    refused: list[tuple[str, str]] = []
    try:
        work = session.start(options, repair=True)
        if not dry_run and not options.stdin:
            recover(work)
            sweep(work)
        work.examine(report)
        if options.stdin:
            return _to_stdout(report, options, dry_run=dry_run)
        if not dry_run:
            if not options.allow_dirty and refuses(outcome.path for outcome in report.changed):
                return ERROR
            refused = _prove(report, work, verify) if verify is not None else []
            _change(report, work, written)
        else:
            undo.keep(report, work)
        with quiet_pipe():
            _show(report, options, screen, dry_run=dry_run)
            _show_refused(refused)
            if not options.quiet and not session.only_findings(options) and not dry_run:
                for line in undo.ways([outcome.path for outcome in report.changed], work):
                    screen.raw(line)
    except KeyboardInterrupt:
        ERR.say(report.interrupted(written))
        return INTERRUPTED
    code = report.exit_code(changes_count=dry_run) or (FINDINGS if refused else OK)
    return without_findings(code, exit_zero=options.exit_zero)


def _show(report: Report, options: Options, screen: Screen, *, dry_run: bool) -> None:
    session.show_findings(report, options, screen)
    session.show_problems(report, verbose=options.verbose)
    if not options.quiet and not session.only_findings(options):
        for outcome in report.changed:
            codes = ", ".join(sorted(_codes(report, outcome)))
            screen.say(f"{'would fix' if dry_run else 'fixed'} {escaped(str(outcome.path))} ({codes})")
        if report.changed:
            screen.say(_extent(report.changed, dry_run=dry_run))
        screen.say(report.repaired(dry_run=dry_run))
    if options.statistics and not session.only_findings(options):
        session.show_statistics(report, options, screen)


def _codes(report: Report, outcome: Outcome) -> set[str]:
    """The rules whose fixes change a file, in whichever file they are told."""
    names = {str(outcome.path), os.path.realpath(outcome.path)}
    return {
        finding.code for each in report.outcomes for finding in each.fixed if not names.isdisjoint(changed_by(finding))
    }


def _extent(changed: list[Outcome], *, dry_run: bool) -> str:
    """How much was changed."""
    from graphfix.rewrite.patch import changed_lines

    lines = sum(changed_lines(outcome.before, outcome.after) for outcome in changed)
    return f"{'would change' if dry_run else 'changed'} {count(lines, 'line')} in {count(len(changed), 'file')}"


def _to_stdout(report: Report, options: Options, *, dry_run: bool) -> int:
    outcome = report.outcomes[0]
    with quiet_pipe():
        if outcome.status is Status.EXAMINED and not dry_run:
            sys.stdout.buffer.write(outcome.after)
            sys.stdout.buffer.flush()
    _show(report, options, ERR, dry_run=dry_run)
    return without_findings(report.exit_code(changes_count=dry_run), exit_zero=options.exit_zero)


def _prove(report: Report, work: session.Session, verify: str) -> list[tuple[str, str]]:
    """Leave in the report only fixes with which the command runs and computes the same; the others, each with a reason."""
    from graphfix.cli.proven import command_of, proven

    if not report.changed:
        return []
    command = command_of(verify, work.found.roots, work.options.timeout)
    report.outcomes, refused = proven(report.outcomes, work.job, command, quiet=work.options.quiet)
    return refused


def _show_refused(refused: list[tuple[str, str]]) -> None:
    from graphfix.report.script_verdict import refused as lines

    for line in lines(refused) if refused else ():
        OUT.say(line)


def _change(report: Report, work: session.Session, written: list[Path]) -> None:
    """Write the files, and before them the patch that takes them back; in the end it has what was written and no more."""
    undo.keep(report, work)
    planned = len(report.changed)
    try:
        if work.options.verify is not None:
            _write_together(report, work, written)
        else:
            write(report, work, written)
    finally:
        if len(written) < planned:
            undo.keep(report, work, written)


def _write_together(report: Report, work: session.Session, written: list[Path]) -> None:
    """All files or none."""
    from graphfix.files.together import Change

    changed = report.changed
    if changed:
        write_together([Change(Path(os.path.realpath(outcome.path)), outcome.before, outcome.after) for outcome in changed], work)
        written += [outcome.path for outcome in changed]


def write(report: Report, work: session.Session, written: list[Path]) -> None:
    """Write each file; those that parts of one fix are in, all or none."""
    places = {Path(os.path.realpath(outcome.path)): number for number, outcome in enumerate(report.outcomes) if outcome.changed}
    done: set[int] = set()
    for number in places.values():
        outcome = report.outcomes[number]
        if number in done:
            continue
        if not outcome.together:
            report.outcomes[number] = _written(outcome, work, written)
            continue
        group = [number, *(places[path] for path in sorted(outcome.together) if path in places)]
        done.update(group)
        made = _written_together([report.outcomes[each] for each in group], work, written)
        for each, one in zip(group, made, strict=True):
            report.outcomes[each] = one


def _written_together(outcomes: list[Outcome], work: session.Session, written: list[Path]) -> list[Outcome]:
    """The outcomes of files that parts of one fix are in, once all of them are written, or none."""
    from graphfix.files.together import Change, replace_all
    from graphfix.files.write import NotWritten

    changes = [Change(Path(os.path.realpath(each.path)), each.before, each.after) for each in outcomes]
    try:
        if not set().union(*(each.together for each in outcomes)) <= {change.target for change in changes}:
            raise NotWritten("another file that its fix changes could not be repaired")
        replace_all(changes, journal_of(work))
    except NotWritten as error:
        why = f"{error}; a fix changes it together with other files"
        return [replace(Outcome(each.path, Status.UNWRITABLE, why), refused=each.refused) for each in outcomes]
    written += [each.path for each in outcomes]
    return outcomes


def _written(outcome: Outcome, work: session.Session, written: list[Path]) -> Outcome:
    from graphfix.files.write import NotWritten
    from graphfix.files.write import replace as replace_file

    try:
        replace_file(outcome.path, outcome.before, outcome.after, work.found.roots)
    except NotWritten as error:
        return replace(Outcome(outcome.path, Status.UNWRITABLE, str(error)), refused=outcome.refused)
    written.append(outcome.path)
    return outcome

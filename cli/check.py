"""`graphfix check`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.exits import ERROR, INTERRUPTED, OK, without_findings
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.report.escape import escaped
from graphfix.report.report import Report, count


def run(options: Options) -> int:
    """Report findings and give the exit code; with --fix and --diff, what apply and diff do; with --add-noqa, silence them."""
    if options.watch:
        from graphfix.cli import watch

        for flag, given in (("--fix", options.fix), ("--diff", options.diff), ("--add-noqa", options.add_noqa)):
            if given:
                session.fail(f"--watch cannot be given together with {flag}")
        return watch.run(options)
    if options.add_noqa:
        return _suppress(options)
    if options.fix or options.diff:
        return _repair(options)
    for flag, typed in (("--allow-dirty", options.allow_dirty), ("--output", options.kept_patch is not None)):
        if typed:
            session.fail(f"{flag} needs --fix")
    report = Report(options.unsafe, strict=bool(options.report_unused_suppressions), whole=options.strict)
    if options.write_baseline is not None:
        options = replace(options, baseline=None)
    try:
        session.start(options, ahead=True).examine(report)
        with quiet_pipe():
            if options.write_baseline is not None:
                return _accept(report, options, options.write_baseline)
            tell(report, options)
    except KeyboardInterrupt:
        ERR.say(report.interrupted(()))
        return INTERRUPTED
    return without_findings(report.exit_code(changes_count=False), exit_zero=options.exit_zero)


def _suppress(options: Options) -> int:
    """Add comments in place of telling findings; an option that only findings or fixes have is misuse."""
    for flag, typed in (
        ("--fix", options.fix),
        ("--diff", options.diff),
        ("--write-baseline", options.write_baseline is not None),
        ("--output", options.kept_patch is not None),
        ("--output-file", options.output_file is not None),
    ):
        if typed:
            session.fail(f"--add-noqa cannot be given together with {flag}")
    from graphfix.cli import suppressing

    return suppressing.run(options)


def _repair(options: Options) -> int:
    """Do what the other command does; an option that only findings have is misuse, as it is there."""
    asked = "--diff" if options.diff else "--fix"
    given = options.settings.given if options.settings is not None else {}
    for flag, typed in (
        ("--write-baseline", options.write_baseline is not None),
        ("--report-unused-suppressions", bool(given.get("report-unused-suppressions"))),
        ("--output-format", options.diff and "output-format" in given),
    ):
        if typed:
            session.fail(f"{asked} cannot be given together with {flag}")
    if options.diff:
        from graphfix.cli import diff

        return diff.run(replace(options, patch_file=options.kept_patch or options.output_file, output_file=None).with_streams())
    from graphfix.cli import apply

    return apply.run(options)


def tell(report: Report, options: Options) -> None:
    """Write the findings, what went wrong, and what it comes to."""
    if not options.statistics or not session.shows_prose(options):
        session.show_findings(report, options, OUT)
    if options.statistics:
        session.show_statistics(report, options, ERR if session.only_findings(options) else OUT)
    session.show_problems(report, verbose=options.verbose)
    if not options.quiet and not session.only_findings(options):
        OUT.say(report.found())
        if options.form == "text" and report.findings and session.shows_prose(options) and not options.stdin:
            seen = [word for file in options.evidence or () for word in ("--evidence", str(file))]
            OUT.line(report.next_step(options.places, seen))


def _accept(report: Report, options: Options, path: Path) -> int:
    from graphfix.run.baseline import BaselineError, renewed, written

    session.show_problems(report, verbose=options.verbose)
    try:
        files = renewed(path, report.outcomes)
    except BaselineError as error:
        session.fail(str(error))
    session.store_bytes(path, written(files))
    if not options.quiet:
        entries = sum(sum(known.values()) for known in files.values())
        OUT.say(f"Wrote {count(entries, 'finding')} in {count(len(files), 'file')} to {escaped(str(path))}")
    return ERROR if report.failed() else OK

"""`graphfix check`."""

from __future__ import annotations

from graphfix.cli import session
from graphfix.cli.exits import INTERRUPTED
from graphfix.cli.options import Options, OutputFormat
from graphfix.cli.screen import ERR, OUT, quiet_pipe
from graphfix.report.report import Report


def run(options: Options) -> int:
    """Report findings and give the exit code."""
    report, form = Report(options.unsafe), options.form
    try:
        session.start(options, edits=form is OutputFormat.JSON).examine(report)
        with quiet_pipe():
            session.show_findings(report, form, OUT)
            session.show_problems(report, verbose=options.verbose)
            if not options.quiet and form is not OutputFormat.JSON:
                OUT.say(report.found())
    except KeyboardInterrupt:
        ERR.say(report.interrupted(()))
        return INTERRUPTED
    return report.exit_code(changes_count=False)

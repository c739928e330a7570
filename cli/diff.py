"""`graphfix diff`: the patch on standard output, everything else on standard error."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.exits import INTERRUPTED
from graphfix.cli.options import Options
from graphfix.cli.screen import ERR, OUT, quiet_pipe
from graphfix.outcome import Outcome, Status
from graphfix.project.discovery import Discovered
from graphfix.report.report import Report


def run(options: Options) -> int:
    """Print the patch and give the exit code."""
    report = Report(options.unsafe)
    try:
        work = session.start(options, repair=True)
        work.examine(report)
        with quiet_pipe():
            _show(report, work.found)
        session.show_problems(report, verbose=options.verbose)
        if not options.quiet:
            ERR.say(report.repaired(dry_run=True))
    except KeyboardInterrupt:
        ERR.say(report.interrupted(()))
        return INTERRUPTED
    return report.exit_code(changes_count=True)


def _show(report: Report, found: Discovered) -> None:
    base = _base(found)
    for number, outcome in enumerate(report.outcomes):
        patch, report.outcomes[number] = _patch(outcome, base)
        OUT.patch(patch)


def _patch(outcome: Outcome, base: str) -> tuple[bytes, Outcome]:
    if not outcome.changed:
        return b"", outcome
    from graphfix.rewrite.patch import BadPatch, unified

    try:
        return unified(_name(outcome.path, base), outcome.before, outcome.after), outcome
    except BadPatch as error:
        failed = replace(outcome, status=Status.INTERNAL, reason=str(error), after=outcome.before, fixed=())
        return b"", failed


def _base(found: Discovered) -> str:
    """The folder that the patch's names are relative to: the working directory, if it holds all files."""
    here = os.path.realpath(os.curdir)
    if all(root.is_relative_to(here) for root in found.roots):
        return here
    return os.path.commonpath(found.roots)


def _name(path: Path, base: str) -> str:
    # the real place: git does not apply a patch through a link
    if path.name.startswith("<"):
        return "stdin.py"
    return os.path.relpath(os.path.realpath(path), base).replace(os.sep, "/")

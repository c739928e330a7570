"""`graphfix diff`: the patch on standard output, everything else on standard error."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.exits import INTERRUPTED, without_findings
from graphfix.cli.options import Options
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.files.discovery import Discovered
from graphfix.report.escape import escaped
from graphfix.report.report import Report
from graphfix.run.outcome import Outcome, Status


def run(options: Options) -> int:
    """Make the patch and give the exit code."""
    report = Report(options.unsafe, whole=options.strict)
    if options.patch_file is not None and options.by_rule is not None:
        session.fail("--output cannot be given together with --by-rule")
    try:
        work = session.start(options, repair=True, stages=options.by_rule is not None)
        work.examine(report)
        with quiet_pipe():
            _deliver(report, work)
        session.show_problems(report, verbose=options.verbose)
        with quiet_pipe():
            if options.statistics:
                session.show_statistics(report, options, OUT if options.patch_file or options.by_rule else ERR)
        if not options.quiet:
            ERR.say(report.repaired(dry_run=True))
    except KeyboardInterrupt:
        ERR.say(report.interrupted(()))
        return INTERRUPTED
    return without_findings(report.exit_code(changes_count=True), exit_zero=options.exit_zero)


def _deliver(report: Report, work: session.Session) -> None:
    options, base = work.options, base_of(work.found)
    patches = []
    for number, outcome in enumerate(report.outcomes):
        patch, report.outcomes[number] = patch_of(outcome, base)
        patches.append(patch)
    if options.by_rule is not None:
        from graphfix.cli.patch_series import write_series

        for path in write_series(report, options.by_rule, lambda path, old, new: _unified(path, old, new, base)):
            OUT.raw(escaped(str(path)))
    elif options.patch_file is not None:
        session.store_bytes(options.patch_file, b"".join(patches))
    else:
        for patch in patches:
            OUT.patch(patch)


def patch_of(outcome: Outcome, base: str) -> tuple[bytes, Outcome]:
    """The patch of one file with names relative to `base`, and its outcome: a fault where the patch would be wrong."""
    if not outcome.changed:
        return b"", outcome
    from graphfix.rewrite.patch import BadPatch

    try:
        return _unified(outcome.path, outcome.before, outcome.after, base), outcome
    except BadPatch as error:
        failed = replace(outcome, status=Status.INTERNAL, reason=str(error), after=outcome.before, fixed=())
        return b"", failed


def _unified(path: Path, before: bytes, after: bytes, base: str) -> bytes:
    from graphfix.rewrite.patch import unified

    return unified(_name(path, base), before, after)


def base_of(found: Discovered) -> str:
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

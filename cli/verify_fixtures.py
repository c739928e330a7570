"""`graphfix verify` without a script: the fixtures, before and after their repairs. Runs code."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.choices import Device, ListFormat
from graphfix.cli.exits import FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Options
from graphfix.cli.progress import shown_progress
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.run.selection import UnknownCode, parse_codes
from graphfix.verify.cases import Case, Kind, bundled, cases_in, chosen
from graphfix.verify.declared import BadExpected
from graphfix.verify.fixtures import Verdict, verify
from graphfix.verify.launch import NoTorch, devices


def run(options: Options) -> int:
    """Run the chosen fixtures, tell the verdicts and give the exit code."""
    cases = _cases(options)
    torch, places = _devices(options.device)
    if options.plot is not None:
        _check_plot(options, cases, places)
    started = time.monotonic()
    verdicts: list[Verdict] = []
    try:
        with closing(verify(cases, places, options.jobs or 0)) as found:
            for verdict in shown_progress(found, len(cases) * len(places), quiet=options.quiet, doing="running", of="cases"):
                verdicts.append(verdict)
    except KeyboardInterrupt:
        ERR.say(f"graphfix: interrupted after {len(verdicts)} verdicts")
        return INTERRUPTED
    except BadExpected as error:
        session.fail(str(error))
    with quiet_pipe():
        _show(options, verdicts, torch, places, time.monotonic() - started)
    if options.plot is not None:
        _plot(options.plot, verdicts[0])
    return OK if all(verdict.good for verdict in verdicts) else FINDINGS


def _cases(options: Options) -> list[Case]:
    from graphfix.codemods import CODES, NAMES

    folder = options.fixtures or bundled()
    if not folder.is_dir():
        session.fail(f"no folder of fixtures: {folder}")
    try:
        codes = parse_codes(options.only or (), CODES, NAMES)
    except UnknownCode as error:
        session.fail(str(error))
    found = chosen(cases_in(folder.resolve()), codes, tuple(options.case or ()))
    if not found:
        session.fail("no fixture of that name" if options.case else f"no fixtures in {folder}")
    return found


def _devices(wanted: Device) -> tuple[str, tuple[str, ...]]:
    """The version of torch, and where to run."""
    try:
        torch, present = devices()
    except NoTorch as error:
        session.fail(f"verify runs code with PyTorch, which {sys.executable} does not have: {error}")
    if wanted is Device.ALL:
        return torch, present
    if wanted.value not in present:
        session.fail(f"torch {torch} finds no {wanted.value} here, only {', '.join(present)}")
    return torch, (wanted.value,)


def _show(options: Options, verdicts: list[Verdict], torch: str, places: tuple[str, ...], seconds: float) -> None:
    from graphfix.report.verdicts import as_json, problems, summary, table

    if options.verdict_format is ListFormat.JSON:
        OUT.raw(as_json(verdicts, torch, places))
        return
    OUT.raw(table(verdicts, terminal=sys.stdout.isatty(), colour=OUT.colour))
    for line in problems(verdicts):
        OUT.say(line)
    if not options.quiet:
        OUT.say(summary(verdicts, torch, seconds))


def _check_plot(options: Options, cases: list[Case], places: tuple[str, ...]) -> None:
    """Before anything has run."""
    from graphfix.verify.plot import ENDINGS, NoPlotter, check

    assert options.plot is not None
    if len(cases) != 1 or cases[0].kind is not Kind.PAIR or len(places) != 1:
        session.fail("--plot draws one repaired fixture on one device: choose it with --select, --case and --device")
    if options.plot.suffix.lower() not in ENDINGS:
        session.fail(f"--plot writes {' or '.join(ENDINGS)}, not {options.plot.name}")
    try:
        check()
    except NoPlotter as error:
        session.fail(str(error))


def _plot(file: Path, verdict: Verdict) -> None:
    from graphfix.verify.plot import draw

    assert verdict.runs.after is not None
    try:
        draw(verdict.runs.before, verdict.runs.after, file, f"{verdict.case.key} on {verdict.device}")
    except OSError as error:
        session.fail(f"cannot write {file}: {error.strerror}")

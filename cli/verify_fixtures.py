"""`graphfix verify`: the only command, beside trace, that runs code."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from graphfix.cli import session
from graphfix.cli.exits import FINDINGS, INTERRUPTED, OK
from graphfix.cli.options import Device, ListFormat
from graphfix.cli.progress import shown_progress
from graphfix.cli.terminal import ERR, OUT, quiet_pipe
from graphfix.run.selection import UnknownCode, parse_codes
from graphfix.verify.cases import Case, Kind, bundled, cases_in, chosen
from graphfix.verify.fixtures import Verdict, verify
from graphfix.verify.launch import NoTorch, devices


@dataclass(frozen=True)
class Wish:
    """What the user asked for."""

    select: tuple[str, ...]
    cases: tuple[str, ...]
    device: Device
    form: ListFormat
    plot: Path | None
    fixtures: Path | None
    jobs: int
    quiet: bool


def run(wish: Wish) -> int:
    """Run the chosen fixtures, tell the verdicts and give the exit code."""
    cases = _cases(wish)
    torch, places = _devices(wish.device)
    if wish.plot is not None:
        _check_plot(wish, cases, places)
    started = time.monotonic()
    verdicts: list[Verdict] = []
    try:
        with closing(verify(cases, places, wish.jobs)) as found:
            for verdict in shown_progress(found, len(cases) * len(places), quiet=wish.quiet, doing="running"):
                verdicts.append(verdict)
    except KeyboardInterrupt:
        ERR.say(f"graphfix: interrupted after {len(verdicts)} verdicts")
        return INTERRUPTED
    with quiet_pipe():
        _show(wish, verdicts, torch, places, time.monotonic() - started)
    if wish.plot is not None:
        _plot(wish.plot, verdicts[0])
    return OK if all(verdict.good for verdict in verdicts) else FINDINGS


def _cases(wish: Wish) -> list[Case]:
    from graphfix.codemods import RULES

    folder = wish.fixtures or bundled()
    if not folder.is_dir():
        session.fail(f"no folder of fixtures: {folder}")
    try:
        codes = parse_codes(wish.select, [rule.code for rule in RULES])
    except UnknownCode as error:
        session.fail(str(error))
    found = chosen(cases_in(folder.resolve()), codes, wish.cases)
    if not found:
        session.fail("no fixture of that name" if wish.cases else f"no fixtures in {folder}")
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


def _show(wish: Wish, verdicts: list[Verdict], torch: str, places: tuple[str, ...], seconds: float) -> None:
    from graphfix.report.verdicts import as_json, problems, summary, table

    if wish.form is ListFormat.JSON:
        OUT.say(as_json(verdicts, torch, places))
        return
    OUT.say(table(verdicts, terminal=sys.stdout.isatty(), colour=OUT.colour))
    for line in problems(verdicts):
        OUT.say(line)
    if not wish.quiet:
        OUT.say(summary(verdicts, torch, seconds))


def _check_plot(wish: Wish, cases: list[Case], places: tuple[str, ...]) -> None:
    """Before anything has run."""
    from graphfix.verify.plot import ENDINGS, NoPlotter, check

    assert wish.plot is not None
    if len(cases) != 1 or cases[0].kind is not Kind.PAIR or len(places) != 1:
        session.fail("--plot draws one repaired fixture on one device: choose it with --select, --case and --device")
    if wish.plot.suffix.lower() not in ENDINGS:
        session.fail(f"--plot writes {' or '.join(ENDINGS)}, not {wish.plot.name}")
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

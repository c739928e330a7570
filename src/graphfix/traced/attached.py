"""Runs a script under the probe as if it were started by hand: its streams, folder, arguments and exit code are its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_json
from graphfix.verify.folders import temporary
from graphfix.verify.guard import marked_environment, own_environment, own_group
from graphfix.verify.launch import PROBE, REPORT_BYTES, NoTorch
from graphfix.verify.record import Ending, ended_by
from graphfix.verify.supervision import Limits, kill, supervised

__all__ = ["Attached", "NoTorch", "run"]


@dataclass(frozen=True)
class Attached:
    """How a script ended: its exit code (negative for a signal), what the probe reports, and whether its time was over."""

    code: int
    report: dict[str, Any] | None
    late: bool = False


def run(
    words: list[str], python: tuple[str, ...] = (sys.executable,), iterations: int = 0, seconds: float | None = None,
    imports: Path | None = None,
) -> Attached:  # fmt: skip
    """Run `words`, a script or `-m` and a module, with its arguments.

    `iterations`: walks after which it is ended, 0 for none; `seconds`: the time after which it is, with all that it has started.
    `imports`: the folder that it is run in and imports from; None: as it is started by hand.
    """
    environment = own_environment()
    if imports is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(imports), environment.get("PYTHONPATH"))))
    with temporary() as folder:
        report = folder / "report.json"
        command = [*python, str(PROBE), "--report", str(report), "--trace", str(iterations), *words]
        if seconds is None:
            process = subprocess.Popen(command, cwd=imports, env=environment)
            late = _wait(process)
        else:
            process = subprocess.Popen(command, cwd=imports, env=marked_environment() | environment, **own_group())
            late = _wait_in_group(process, seconds)
        return Attached(process.returncode, _read(report), late)


def with_signal(done: Attached) -> dict[str, Any]:
    """The report of a run, with what has ended it, where it could not say so itself: the limit of time, or a signal."""
    report = done.report or {}
    if done.late:
        return {**report, "outcome": Ending.LATE.value}
    signalled = ended_by(done.code)
    if signalled is None or report.get("error") is not None:
        return report
    return {**report, "error": {"type": signalled.kind, "message": signalled.message, "file": None, "line": None}}


def _wait(process: subprocess.Popen[bytes]) -> bool:
    """Wait for the end. Ctrl-C goes to the script, which may go on."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return False


def _wait_in_group(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """The same for a script with a group of its own, to which Ctrl-C is handed on; whether its time was over."""
    before = signal.signal(signal.SIGINT, lambda *_: kill(process.pid, signal.SIGINT))
    try:
        return supervised(process, Limits(seconds, memory=sys.maxsize, processes=sys.maxsize)).late
    finally:
        signal.signal(signal.SIGINT, before)


def _read(report: Path) -> dict[str, Any] | None:
    try:
        found = read_json(report, REPORT_BYTES)
    except SourceError:
        return None
    return found if isinstance(found, dict) else None

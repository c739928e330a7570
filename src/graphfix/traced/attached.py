"""Runs a script under the probe as if it were started by hand: its streams, folder, arguments and exit code are its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphfix.verify.folders import temporary
from graphfix.verify.launch import GRACE, PROBE, NoTorch, own_environment

__all__ = ["Attached", "NoTorch", "run"]


@dataclass(frozen=True)
class Attached:
    """How a script ended: its exit code (negative for a signal), what the probe reports, and whether its time was over."""

    code: int
    report: dict[str, Any] | None
    late: bool = False


def run(
    words: list[str], python: tuple[str, ...] = (sys.executable,), iterations: int = 0, seconds: float | None = None
) -> Attached:
    """Run `words`, a script or `-m` and a module, with its arguments.

    `iterations`: walks after which it is ended, 0 for none; `seconds`: the time after which it is.
    """
    with temporary() as folder:
        report = folder / "report.json"
        command = [*python, str(PROBE), "--report", str(report), "--trace", str(iterations), *words]
        process = subprocess.Popen(command, env=own_environment())
        late = _wait(process, seconds)
        return Attached(process.returncode, _read(report), late)


def _wait(process: subprocess.Popen[bytes], seconds: float | None) -> bool:
    """Wait for the end. Ctrl-C goes to the script, which may go on; `seconds` end it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        process.kill()
        process.wait()
        return True
    finally:
        signal.signal(signal.SIGINT, before)


def _read(report: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(report.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None

"""Waits for a script within its limits: of time, memory, processes and output. Whatever it has started ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.family import Family, shared_out
from graphfix.verify.free_memory import free_memory
from graphfix.verify.guard import ends_by, over
from graphfix.verify.record import Failure

GRACE = 2.0  # seconds to write the last report in
PATIENCE = 5.0  # seconds behind its limit until the guard ends a script that this process did not end
INTERVAL = 0.1  # seconds between two looks
PROCESSES = 512  # at a time
OUTPUT = 1 << 30  # bytes


@dataclass(frozen=True)
class Limits:
    """What a script may take. `memory`: bytes; 0 for nine tenths of what is free when it starts."""

    seconds: float
    memory: int = 0
    processes: int = PROCESSES
    output: int = OUTPUT  # bytes that it writes to its streams


@dataclass(frozen=True)
class Ended:
    """What brought about the end: the limit of time, or another one, and which; else the script itself."""

    late: bool = False
    excess: Failure | None = None


def supervised(process: subprocess.Popen[Any], limits: Limits, streams: Sequence[Path] = ()) -> Ended:
    """Wait for the end of the process, which leads a group of its own; behind it, nothing of what it started is left."""
    family = Family(process.pid)
    ends_by(process.pid, limits.seconds + PATIENCE)
    try:
        return _awaited(process, family, limits, streams)
    finally:
        family.end()
        process.wait()
        over(process.pid)


def _awaited(process: subprocess.Popen[Any], family: Family, limits: Limits, streams: Sequence[Path]) -> Ended:
    deadline = time.monotonic() + limits.seconds
    memory = limits.memory or free_memory() * 9 // 10
    while True:
        left = deadline - time.monotonic()
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, min(left, INTERVAL)))
            return Ended(late=time.monotonic() > deadline + GRACE)  # the guard has ended it, while this process was stopped
        if left <= INTERVAL:
            if time.monotonic() < deadline:
                continue
            kill(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            return Ended(late=True)
        excess = _excess(family, limits, memory, streams)
        if excess is not None:
            family.end()
            return Ended(excess=excess)


def _excess(family: Family, limits: Limits, memory: int, streams: Sequence[Path]) -> Failure | None:
    """The limit that is exceeded."""
    members = family.members()
    if len(members) > limits.processes:
        return Failure("too many processes", f"more than {limits.processes} at a time")
    # what processes share is counted only where that may matter: it takes the system some time
    if memory and sum(member.resident for member in members) > memory and shared_out(members) > memory:
        return Failure("too much memory", f"more than {_said(memory)}")
    if sum(path.stat().st_size for path in streams if path.exists()) > limits.output:
        return Failure("too much output", f"more than {_said(limits.output)}")
    return None


def _said(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size >> 20} MiB"


def kill(group: int, number: int) -> None:
    """Send a signal to a group that may be gone."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)

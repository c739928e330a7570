"""All processes that a script has started: how many there are, how much memory they take, and their end.

Its process group is not all of it: a child may have a group or a session of its own, and outlive its parent. What belongs
to a script is known by the session, by the parents, and by a word in the environment, which children inherit.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from graphfix.verify.guard import is_marked, own_mark

PROCESSES = Path("/proc")
PATIENCE = 2.0  # seconds for what starts others as fast as it is ended
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class Process:
    """A process at one moment. A number may be used again, together with `start` it is not."""

    number: int
    parent: int
    session: int
    start: int
    resident: int  # bytes, shared ones, too

    @property
    def key(self) -> tuple[int, int]:
        return self.number, self.start


class Family:
    """What the process `leader`, which leads a session of its own, has started; nothing where the system does not tell."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self._known: set[tuple[int, int]] = set()
        self._foreign: set[tuple[int, int]] = set()
        self._mark = own_mark()

    def members(self) -> list[Process]:
        """Those that run now. Asked from time to time: whoever has lost its parents is known from before."""
        present = _present()
        numbers = {process.number for process in present if process.key in self._known}
        found = True
        while found:  # until nobody brings in children any more
            found = False
            for process in present:
                if process.key not in self._known and self._takes_in(process, numbers):
                    self._known.add(process.key)
                    numbers.add(process.number)
                    found = True
        return [process for process in present if process.key in self._known]

    def _takes_in(self, process: Process, numbers: set[int]) -> bool:
        if self.leader in (process.session, process.number) or process.parent in numbers:
            return True
        if process.key in self._foreign:
            return False
        is_ours = is_marked(process.number, self._mark)
        if not is_ours:
            self._foreign.add(process.key)
        return is_ours

    def end(self) -> None:
        """End all of it at once, and again until nobody is left."""
        limit = time.monotonic() + PATIENCE
        while True:
            # in one go, so that a group that goes on starting processes ends, too
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.leader, signal.SIGKILL)
            left = [process for process in self.members() if process.number != self.leader]
            for process in left:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process.number, signal.SIGKILL)
            if not left or time.monotonic() > limit:
                return
            time.sleep(0.01)


def shared_out(processes: list[Process]) -> int:
    """The bytes that the processes take together, what they share counted once; less precise where the system does not tell."""
    return sum(_proportional(process) for process in processes)


def _proportional(process: Process) -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in (PROCESSES / str(process.number) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) << 10
    return process.resident


def _present() -> list[Process]:
    """All processes of the system that have not ended."""
    try:
        names = [name for name in os.listdir(PROCESSES) if name.isdigit()]
    except OSError:
        return []
    present = []
    for name in names:
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            # behind the name of its program, which may hold anything
            words = (PROCESSES / name / "stat").read_bytes().rpartition(b") ")[2].split()
            if words[0] not in (b"Z", b"X"):
                present.append(Process(int(name), int(words[1]), int(words[3]), int(words[19]), int(words[21]) * PAGE))
    return present

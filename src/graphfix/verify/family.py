"""All processes that a script has started: how many there are, how much memory they take, and their end.

Its process group is not all of it: a child may have a group or a session of its own, and outlive its parent. What belongs
to a script is known by the session, by the parents, and by a word in the environment, which children inherit. Whoever has lost its
parents becomes a child of this process, which has adopted it (`guard.own_group`), and has no others that are new.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
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
    ended: bool = False  # and nobody has asked how

    @property
    def key(self) -> tuple[int, int]:
        return self.number, self.start


class Family:
    """What the process `leader`, which leads a session of its own, has started; nothing where the system does not tell.

    Made right behind the start of the leader: children that this process has by then are not taken for adopted ones.
    """

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self._own = {process.key for process in _present() if process.parent == os.getpid()}
        self._known: set[tuple[int, int]] = set()
        self._foreign: set[tuple[int, int]] = set()
        self._mark = own_mark()

    def members(self) -> list[Process]:
        """Those that run now. Asked from time to time: whoever has lost its parents is known from before."""
        everybody = _present()
        self._reap(everybody)
        present = [process for process in everybody if not process.ended]
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
        if self.leader in (process.session, process.number) or process.parent in numbers or self._is_adopted(process):
            return True
        if process.key in self._foreign:
            return False
        is_ours = is_marked(process.number, self._mark)
        if not is_ours:
            self._foreign.add(process.key)
        return is_ours

    def _is_adopted(self, process: Process) -> bool:
        return process.parent == os.getpid() and process.key not in self._own and process.number != self.leader

    def _reap(self, processes: list[Process]) -> None:
        """Let go of adopted ones that have ended."""
        for process in processes:
            if process.ended and self._is_adopted(process):
                with suppress(ChildProcessError):
                    os.waitpid(process.number, os.WNOHANG)

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
    """All processes of the system; those that have ended as long as nobody has asked how."""
    try:
        names = [name for name in os.listdir(PROCESSES) if name.isdigit()]
    except OSError:
        return []
    present = []
    for name in names:
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            # behind the name of its program, which may hold anything
            words = (PROCESSES / name / "stat").read_bytes().rpartition(b") ")[2].split()
            ended = words[0] in (b"Z", b"X")
            present.append(Process(int(name), int(words[1]), int(words[3]), int(words[19]), int(words[21]) * PAGE, ended))
    return present

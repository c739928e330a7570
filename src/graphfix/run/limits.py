"""What one file may cost: time and memory, so that no file keeps the others waiting."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS = 20.0  # of this process's own computing, whatever else the machine does
TOO_LONG = f"it takes more than {SECONDS:.0f} seconds"
PATIENCE = 180.0  # by the clock, which runs on while others compute; for what does not heed signals: a worker ends itself
PLENTY = 150 << 20  # bytes of this process, from which on the files that are only kept are let go
MORE = 50 << 20  # bytes that have to come on top before they are again: what was let go is used anew before the system is asked
LARGE = 200_000  # bytes of a file; libcst may take a thousand times as many, a tape so many times:
TIMES = 500
ROOM = 400 << 20  # bytes that this process is to hold at most, with what a tape may take
MEMORY = 1 << 30  # bytes, on top of what a worker begins with
_bearable = PLENTY


class TookTooLong(BaseException):
    """The time for one file is over. No `Exception`: nobody who survives the fault of a rule may survive this."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Raise `TookTooLong` in the block once it has computed for `SECONDS`; no limit where no signal can be had, as in a thread."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    armed = True

    def ring(number: int, frame: object) -> None:
        if armed:
            raise TookTooLong

    def tell(fault: sys.UnraisableHookArgs) -> None:
        if fault.exc_type is not TookTooLong:
            told(fault)

    before, told = signal.signal(signal.SIGVTALRM, ring), sys.unraisablehook
    # it rings again: an exception that is raised while the interpreter cleans up goes no further, and is of no use to the user
    sys.unraisablehook = tell
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.5)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = told


@contextmanager
def ended_when_stuck() -> Iterator[None]:
    """End this process, a worker, where the block is not over after `PATIENCE`: also in code that runs no Python, such as a parser."""
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(PATIENCE, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def spare_memory() -> None:
    """Let go of the files that are only kept to save time, each time that this process has come to hold much more."""
    global _bearable
    if memory_in_use() < _bearable:
        return
    _let_go()
    _bearable = max(PLENTY, memory_in_use() + MORE)


def make_room(path: Path, data: bytes | None) -> None:
    """Let go of them before a file (with `data` as its content) that may need more itself than there is room for."""
    size = bytes_of(path, data)
    if size > LARGE and memory_in_use() + TIMES * size > ROOM:
        _let_go()


def _let_go() -> None:
    from graphfix.run.again import let_go

    let_go()
    gc.collect()
    _trim()


def _trim() -> None:
    """Give what is free within the heap back to the system, where the C library can.

    https://man7.org/linux/man-pages/man3/malloc_trim.3.html
    """
    if os.name != "posix":
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def bytes_of(path: Path, data: bytes | None) -> int:
    """How many bytes there are in a file, or in `data` in its stead; 0 where nobody can tell."""
    if data is not None:
        return len(data)
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0  # examining it tells why


def memory_in_use() -> int:
    """The bytes of this process that lie in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


@contextmanager
def limited_memory() -> Iterator[None]:
    """Let this process take `MEMORY` bytes more than it has in the block, and as much as before behind it."""
    try:
        import resource
    except ImportError:
        yield  # a system without limits
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    limit_memory()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def limit_memory() -> None:
    """Let this process, such as a worker, take `MEMORY` bytes more than it has; beyond, it gets a MemoryError."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError, ValueError):
        return  # a system that does not tell
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))

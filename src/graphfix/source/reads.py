"""Which other files an analysis goes by, and in which state it met them: what is kept of it holds as long as they are so."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# size in bytes, times of the last change of content and of anything in nanoseconds; None for a file that is not there
State = tuple[int, int, int] | None

# of the files that this process holds the content of: as they were before that was read
_met: dict[Path, State] = {}
_noted: list[dict[Path, State]] = []


def note_read(path: Path) -> None:
    """Say that what follows goes by the content or the size of the file at `path`; called before it is read."""
    state = _met[path] if path in _met else _met.setdefault(path, state_of(path))
    for reads in _noted:
        reads[path] = state


@contextmanager
def noted_reads() -> Iterator[Mapping[Path, State]]:
    """Collects the files that are read inside of it, each with its state."""
    reads: dict[Path, State] = {}
    _noted.append(reads)
    try:
        yield reads
    finally:
        del _noted[-1]


def state_of(path: Path) -> State:
    """The state of a file now."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def forget_states() -> None:
    """Files are read anew from now on."""
    _met.clear()

"""The one recipe for new content: all bytes reach the disk in a file beside the old one, which then takes its place.

What is temporary is named after the process that made it, so that a later run can tell what a killed one left.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

PREFIX = ".graphfix-"
_SUFFIX = ".tmp"
_OLD_SECONDS = 3600.0

# Gives the new file, open as this handle and of this name, its owner and mode
Finish = Callable[[int, Path], None]


def own_name() -> str:
    """A name for something temporary of this process."""
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}{_SUFFIX}"


def is_temporary(name: str) -> bool:
    """Whether the name is of the kind that `own_name` gives, in whatever process."""
    return name.startswith(PREFIX) and name.endswith(_SUFFIX)


def is_left_over(name: str) -> bool:
    """Whether the name is that of a process that runs no more."""
    number = name[len(PREFIX) :].split("-")[0]
    return is_temporary(name) and number.isdigit() and not is_alive(int(number))


@contextlib.contextmanager
def staged(target: Path, data: bytes, finish: Finish) -> Iterator[Path]:
    """A new file beside `target` with `data` on the disk. At the end it is gone, unless it was renamed.

    Also on Ctrl-C: only a kill may leave it, for `sweep` to find.
    """
    temporary = target.with_name(own_name())
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            finish(handle, temporary)
            os.fsync(handle)
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def sync_folder(folder: Path) -> None:
    """Bring a rename in `folder` to the disk."""
    # the rename is done; a file system that cannot sync a folder is no reason to report a failure
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folders: Iterable[Path]) -> tuple[Path, ...]:
    """Remove the temporary files that killed runs left in `folders`; those of live runs stay."""
    swept = []
    for folder in folders:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                path = folder / name
                if is_temporary(name) and _is_stale(path):
                    path.unlink()
                    swept.append(path)
    return tuple(swept)


def _is_stale(path: Path) -> bool:
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        return False
    # a process number may be used again, or be one of another machine: no run holds a file for an hour
    return time.time() - state.st_mtime > _OLD_SECONDS or is_left_over(path.name)


def is_alive(process: int) -> bool:
    """Whether a process of this number runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True

"""The end of a log file, however long that is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from graphfix.why.clean import MAX_BYTES, tail


class NoLog(Exception):
    """A file that cannot be read, and why."""


def last_of(path: Path) -> bytes:
    """The last bytes of the file at `path`, all of a notebook's; `NoLog` where there are none. Never waits on a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise NoLog("no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()) from error
    with os.fdopen(handle, "rb") as stream:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise NoLog("a folder, not a file" if stat.S_ISDIR(state.st_mode) else "not a regular file")
        if path.suffix != ".ipynb" and state.st_size > MAX_BYTES:
            stream.seek(-MAX_BYTES - 1, os.SEEK_END)
        return stream.read() if path.suffix == ".ipynb" else tail(stream.read())

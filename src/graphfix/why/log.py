"""The end of a log file, however long that is."""

from __future__ import annotations

import os
from pathlib import Path

from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes, read_end
from graphfix.why.clean import MAX_READ, tail

MAX_NOTEBOOK = 64_000_000  # its pictures count, too


class NoLog(Exception):
    """A file that cannot be read, and why."""


def last_of(path: Path) -> bytes:
    """The last bytes of the file at `path`, all of a notebook's; `NoLog` where there are none. Never waits on a pipe."""
    if not os.path.lexists(path):
        raise NoLog("no such file")
    try:
        if path.suffix == ".ipynb":
            return read_bytes(path, MAX_NOTEBOOK)
        return tail(read_end(path, MAX_READ + 1))
    except SourceError as error:
        raise NoLog(error.reason) from error

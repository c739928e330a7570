"""Bytes of files that anybody may have put there: only of regular files, never more than a bound, and never with a wait."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from graphfix.source.errors import Skipped, SourceError

MAX_BYTES = 10_000_000
STATE_BYTES = 64_000_000  # of what graphfix has written itself, such as a baseline: it has a line for each finding


class NotJson(SourceError):
    """A file that is no JSON, or nested deeper than a reader goes."""


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes, or `SourceError`."""
    with _opened(path) as (stream, size):
        if size > limit:
            raise Skipped("too large")
        data = stream.read(size + 1) or b""  # None: a file of the system that would have it wait
        if len(data) > size:  # a file of the system that tells no size, or one that grows
            data += stream.read(limit + 1 - len(data)) or b""
        if len(data) > limit:
            raise Skipped("too large")
        return data


def read_end(path: Path, limit: int) -> bytes:
    """The last `limit` bytes of a regular file, or `SourceError`."""
    with _opened(path) as (stream, size):
        stream.seek(max(0, size - limit))
        return stream.read(limit)


def read_json(path: Path, limit: int = MAX_BYTES) -> Any:
    """What a JSON file of at most `limit` bytes holds, or `SourceError`."""
    import json

    data = read_bytes(path, limit)
    try:
        return json.loads(data)
    except RecursionError as error:
        raise NotJson("nested too deeply") from error
    except json.JSONDecodeError as error:
        raise NotJson(error.msg.lower(), error.lineno, error.colno) from error
    except ValueError as error:  # no text, or a number of thousands of digits
        raise NotJson("not valid JSON") from error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    try:
        # asked first: to open a pipe lets its writer go on, and to open a device may start what it stands for
        _check_regular(os.stat(path))
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as stream:
            state = os.fstat(handle)
            _check_regular(state)  # it may have been replaced since
            yield stream, state.st_size
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise SourceError(_why_unreadable(error)) from error


def _check_regular(state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise SourceError("a folder, not a file" if stat.S_ISDIR(state.st_mode) else "not a regular file")


def _why_unreadable(error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return "not a file name"
    reasons = {
        errno.ENOENT: "no such file",
        errno.EACCES: "permission denied",
        errno.EPERM: "permission denied",
        errno.ELOOP: "a loop of symbolic links",
        errno.EISDIR: "a folder, not a file",
        errno.ENXIO: "not a regular file",
    }
    return reasons.get(error.errno or 0, (error.strerror or str(error)).lower())

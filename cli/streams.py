"""The standard streams: what gets lost there is known, and none of their numbers is ever that of a file."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class LostOutput(Exception):
    """Standard output did not take what was written to it, and why."""


class ReaderGone(BrokenPipeError):
    """Whoever read standard output has seen enough."""


class Output(io.RawIOBase):
    """Standard output below its buffer. It fails once and drops what comes later: a buffer tries again at every flush."""

    name = "<stdout>"

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._over = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._raw.isatty()

    def fileno(self) -> int:
        return self._raw.fileno()

    def write(self, data: ReadableBuffer, /) -> int | None:
        if not self._over:
            try:
                return self._raw.write(data)
            except OSError as error:
                self._over = True
                self._failed(error)
        return memoryview(data).nbytes

    def _failed(self, error: OSError) -> None:
        if isinstance(error, BrokenPipeError):
            # without the number by which typer knows it: its exit code for that means findings
            raise ReaderGone("standard output is closed") from error
        raise LostOutput(f"cannot write to standard output: {reason(error)}") from error


class Errors(Output):
    """Standard error below its buffer: where it fails there is nobody to tell, but the exit code can say so."""

    name = "<stderr>"
    lost = False

    def _failed(self, error: OSError) -> None:
        self.lost = not isinstance(error, BrokenPipeError)


def hold() -> None:
    """Take over the standard streams, before any file is opened."""
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            # else the next file gets the number, and what is meant for the stream. The mode is the wrong one on purpose:
            # whoever uses the stream is to learn that it is closed
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = _over(sys.stdout, 1, Output)
    sys.stderr = _over(sys.stderr, 2, Errors)


def _over(stream: TextIO | None, number: int, kind: type[Output]) -> TextIO:
    if stream is None:
        buffer = io.BufferedWriter(kind(io.FileIO(number, "w", closefd=False)))
        return io.TextIOWrapper(buffer, "utf-8", "backslashreplace")
    below: Any = stream.buffer
    raw: io.RawIOBase = getattr(below, "raw", below)  # without a buffer under `python -u`
    buffer = io.BufferedWriter(kind(raw))
    return io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=bool(stream.line_buffering))


def lost_errors() -> bool:
    """Whether something was to be said on standard error that could not be."""
    raw = getattr(getattr(sys.stderr, "buffer", None), "raw", None)
    return isinstance(raw, Errors) and raw.lost


def read_input(limit: int) -> bytes | None:
    """All of standard input, None where that is more than `limit` bytes; `OSError` where it is closed or cannot be read."""
    data = sys.stdin.buffer.read(limit + 1)
    return data if len(data) <= limit else None


def last_input(limit: int) -> bytes:
    """The last `limit` bytes of standard input, and perhaps some more; `OSError` as above."""
    data = b""
    while part := sys.stdin.buffer.read(limit):
        data = data[-limit:] + part
    return data


def reason(error: OSError) -> str:
    """Why a stream failed, in plain words."""
    if error.errno == errno.EBADF:
        return "it is closed"
    return (error.strerror or str(error)).lower()

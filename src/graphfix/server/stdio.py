"""Messages over two file descriptors, without a thread: the server forks, and a fork has no threads."""

from __future__ import annotations

import asyncio
import os
import select
import stat


class NoPipe(Exception):
    """Standard input is nothing that a client writes to."""


async def reader_of(number: int) -> asyncio.StreamReader:
    """Reads from the file descriptor; `NoPipe` where that is a file, a device or a terminal."""
    mode = os.fstat(number).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise NoPipe("standard input is not a pipe: this command is started by an editor, which talks to it there")
    reader = asyncio.StreamReader()
    stream = open(number, "rb", buffering=0, closefd=False)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stream)
    return reader


class Writer:
    """Writes whole messages to the file descriptor, also where a client has made one of both, and reading does not block."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._over = False

    def write(self, data: bytes) -> None:
        """Write all of it; nothing more once nobody reads: then the input is about to end, too."""
        rest = memoryview(data)
        while rest and not self._over:
            try:
                rest = rest[os.write(self._number, rest) :]
            except BlockingIOError:
                select.select([], [self._number], [])
            except BrokenPipeError:
                self._over = True

    def close(self) -> None:
        """Nothing is held back."""

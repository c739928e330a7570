"""A piece of work in a process of its own, which can be dropped at any time and may die without harm to the server."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import AsyncIterator, Callable, Iterator
from multiprocessing.connection import Connection
from typing import Generic, TypeVar

from graphfix.run.pool import begin_worker, no_interrupt

Result = TypeVar("Result")


class Died(Exception):
    """The process did not come to its end, and with what exit code it went instead."""


class Apart(Generic[Result]):
    """Runs `work` in a fork and gives what that yields, as it comes.

    The fork has the modules that the server has imported, and nothing that earlier work has kept of files: those may have
    changed. The server must have no threads when it forks.
    """

    def __init__(self, work: Callable[[], Iterator[Result]]) -> None:
        context = multiprocessing.get_context("fork")
        self._line, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=_work, args=(work, theirs), daemon=True)
        with no_interrupt():
            self._process.start()
        theirs.close()

    async def results(self) -> AsyncIterator[Result]:
        """What the work yields; `Died` where it ends in another way than at its end."""
        while True:
            await _readable(self._line)
            try:
                yield self._line.recv()
            except EOFError:
                break
        self._process.join()
        if self._process.exitcode:
            raise Died(f"exit code {self._process.exitcode}")

    def end(self) -> None:
        """Leave nothing of the process, wherever it is."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._line.close()


def _work(work: Callable[[], Iterator[Result]], line: Connection) -> None:
    begin_worker()
    os.dup2(2, 1)  # standard output is for the messages of the server
    for result in work():
        line.send(result)
    line.close()


async def _readable(line: Connection) -> None:
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    loop.add_reader(line.fileno(), _wake, waiting)
    try:
        await waiting
    finally:
        loop.remove_reader(line.fileno())


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)

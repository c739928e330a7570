"""The open documents, each with the analysis of its newest text: an older one is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.run.outcome import Outcome
from graphfix.run.workers import processors
from graphfix.server.apart import Apart, Died
from graphfix.server.examination import Found, Repaired, Step, Trouble, examined
from graphfix.server.notebooks import Cell


@dataclass(frozen=True)
class Text:
    """One text of the document `uri`, which stands for the file at `path`. `cells`: those of a notebook, of which `content` is the JSON."""

    uri: str
    path: Path
    content: str
    version: int | None
    cells: tuple[Cell, ...] = ()

    @property
    def versions(self) -> Mapping[str, int | None]:
        """The text documents that may have findings, each with its version."""
        if self.path.suffix != ".ipynb":
            return {self.uri: self.version}
        return {cell.uri: cell.version for cell in self.cells if cell.is_code}


@dataclass
class Reading:
    """The analysis of one text, and what has come of it; both are None in the end where nothing has."""

    text: Text
    found: asyncio.Future[Outcome | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    repaired: asyncio.Future[str | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    task: asyncio.Task[None] | None = None

    def settle(self) -> None:
        """Nobody is to wait for what will not come."""
        for future in (self.found, self.repaired):
            if not future.done():
                future.set_result(None)


class Readings:
    """Starts and drops analyses. `tell` is given what was found, None for nothing; `say` what went wrong with a document."""

    def __init__(self, tell: Callable[[Text, Outcome | None], None], say: Callable[[Text, str], None]) -> None:
        self._tell = tell
        self._say = say
        self._now: dict[str, Reading] = {}
        self._room = asyncio.Semaphore(processors())

    def of(self, uri: str) -> Reading | None:
        """The reading of the newest text of a document, finished or not; None where there is none."""
        return self._now.get(uri)

    def begin(self, text: Text, folders: tuple[Path, ...], delay: float = 0.0) -> None:
        """Read the text in `delay` seconds, where no newer one comes before."""
        self.drop(text.uri)
        reading = self._now[text.uri] = Reading(text)
        reading.task = asyncio.get_running_loop().create_task(self._read(reading, folders, delay))
        reading.task.add_done_callback(partial(self._ended, text))

    def drop(self, uri: str) -> None:
        """Stop reading the document, wherever that is, and forget what was found."""
        reading = self._now.pop(uri, None)
        if reading is not None:
            reading.settle()
            if reading.task is not None:
                reading.task.cancel()

    async def _read(self, reading: Reading, folders: tuple[Path, ...], delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            async with self._room:
                await self._follow(reading, folders)
        finally:
            reading.settle()

    async def _follow(self, reading: Reading, folders: tuple[Path, ...]) -> None:
        text = reading.text
        analysis: Apart[Step] = Apart(partial(examined, text.path, text.content, folders))
        try:
            async for step in analysis.results():
                self._take(reading, step)
        except Died as error:
            self._say(text, f"the process that analysed it died: {error}")
        finally:
            analysis.end()
        if not reading.found.done():
            self._tell(text, None)

    def _take(self, reading: Reading, step: Step) -> None:
        if isinstance(step, Found):
            reading.found.set_result(step.outcome)
            self._tell(reading.text, step.outcome)
        elif isinstance(step, Repaired):
            reading.repaired.set_result(step.text)
        elif isinstance(step, Trouble):
            self._say(reading.text, step.reason)

    def _ended(self, text: Text, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._say(text, f"internal error: {type(error).__name__}: {error}")

"""How far a run is, where it takes long enough to wonder: a bar on a terminal, now and then a line in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from graphfix.cli.terminal import ERR

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0  # seconds without a bar
EVERY = 10.0  # seconds from line to line
_Outcome = TypeVar("_Outcome")


def shown_progress(
    outcomes: Iterable[_Outcome], total: int, *, quiet: bool, doing: str = "checking", of: str = "files",
    so_far: Callable[[], str] = str,
) -> Iterator[_Outcome]:  # fmt: skip
    """Pass the outcomes on and show how far they are, unless `quiet`: so many of `total`, and what has come of them `so_far`."""
    if quiet:
        yield from outcomes
    elif sys.stderr.isatty():
        yield from _with_bar(outcomes, total, doing)
    else:
        yield from _with_lines(outcomes, total, doing, of, so_far)


def _with_lines(outcomes: Iterable[_Outcome], total: int, doing: str, of: str, so_far: Callable[[], str]) -> Iterator[_Outcome]:
    told = time.monotonic()
    for done, outcome in enumerate(outcomes, 1):
        yield outcome
        if done < total and time.monotonic() - told >= EVERY:
            told = time.monotonic()
            ERR.say(", ".join(filter(None, (f"{doing}: {done} of {total} {of}", so_far()))))


def _with_bar(outcomes: Iterable[_Outcome], total: int, doing: str) -> Iterator[_Outcome]:
    started = time.monotonic()
    bar: tuple[Progress, TaskID] | None = None
    try:
        for done, outcome in enumerate(outcomes, 1):
            if bar is None and time.monotonic() - started > PATIENCE:
                bar = _start(total, doing)
            if bar is not None:
                bar[0].update(bar[1], completed=done)
            yield outcome
    finally:
        if bar is not None:
            with suppress(OSError):
                bar[0].stop()


def _start(total: int, doing: str) -> tuple[Progress, TaskID]:
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True, no_color=not ERR.colour), transient=True)
    progress.start()
    return progress, progress.add_task(doing, total=total)

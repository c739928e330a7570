"""A progress bar on the terminal, for runs that take long enough to wonder."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from graphfix.cli.terminal import ERR

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 1.0
_Outcome = TypeVar("_Outcome")


def shown_progress(outcomes: Iterable[_Outcome], total: int, *, quiet: bool, doing: str = "checking") -> Iterator[_Outcome]:
    """Pass the outcomes on and show how far they are."""
    if quiet or not sys.stderr.isatty():
        yield from outcomes
        return
    started = time.monotonic()
    bar: tuple[Progress, TaskID] | None = None
    try:
        for done, outcome in enumerate(outcomes, 1):
            if bar is None and time.monotonic() - started > _PATIENCE:
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

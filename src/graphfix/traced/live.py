"""The probe inside of a process that goes on: for notebooks, for tests, for a loop that is to say when its graphs grow."""

from __future__ import annotations

import io
import sys
import tempfile
import types
import warnings
from pathlib import Path

from graphfix.traced.growing import GROWING, rise
from graphfix.traced.record import Failure, Trace, Waste, from_data
from graphfix.traced.story import lines
from graphfix.verify.probe.report import Report
from graphfix.verify.probe.start import Request
from graphfix.verify.probe.tracing.carriers import user_frames
from graphfix.verify.probe.tracing.tracer import Tracer
from graphfix.verify.probe.watch import Instrument

LOOKS = 4  # that each see more than the one before make a warning


class GraphsGrow(UserWarning):
    """More and more autograd nodes are alive."""


class Live:
    """Follows the graphs of this process while it is entered; it can be asked at any time, and afterwards."""

    _open: Live | None = None

    def __init__(self) -> None:
        self._tracer = Tracer()
        self._instrument = Instrument(self._tracer)
        self._done: Trace | None = None

    def __enter__(self) -> Live:
        self.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: types.TracebackType | None) -> None:
        if error is not None:
            self._tracer.failed(error)
        self.stop()

    def start(self) -> None:
        """Begin; RuntimeError where this process is followed already."""
        if Live._open is not None:
            raise RuntimeError("this process is already traced")
        Live._open = self
        self._instrument.install()

    def stop(self) -> None:
        """End; what was seen can still be asked for."""
        if Live._open is self:
            Live._open = None
            self._tracer.came_to_an_end(is_over=False)
            self._done = self._now()
            self._instrument.uninstall()

    def _now(self) -> Trace:
        report = Report(Request(script="", module=True))
        report.watch, report.outcome = self._tracer, "finished"
        return from_data(report.data())

    @property
    def seen(self) -> Trace:
        """All that was seen so far."""
        return self._done or self._now()

    @property
    def growth(self) -> int:
        """How many more nodes each iteration leaves alive; 0 where they stay as many."""
        return rise(self.seen)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The backward passes that autograd refused."""
        return self.seen.failures

    @property
    def retained(self) -> tuple[Waste, ...]:
        """The lines that keep graphs to which no later backward pass comes."""
        return self.seen.retained

    @property
    def unused(self) -> int:
        """How many nodes were built to which no backward pass came, of graphs that are gone."""
        return self.seen.lost

    def report(self) -> str:
        """The story, as `graphfix trace` tells it."""
        return "\n".join("".join(piece.text for piece in line) for line in lines(self.seen))

    def __repr__(self) -> str:
        return self.report()

    def _repr_png_(self) -> bytes | None:
        """The picture that a notebook shows; none where nothing can be drawn."""
        from graphfix.traced.plot import draw
        from graphfix.verify.plot import NoPlotter

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.png"
            try:
                draw(self.seen, path)
            except NoPlotter:
                return None
            return io.BytesIO(path.read_bytes()).getvalue()


class Watcher:
    """Warns once, as soon as several looks in a row each find more nodes alive than the one before."""

    def __init__(self, every: int) -> None:
        if every < 1:
            raise ValueError(f"every {every} backward passes")
        self._every = every
        self._live = Live()
        self._counts: list[int] = []
        self._walks = self._live._tracer.walks
        self._walks.after_each = self._look
        self._live.start()

    def _look(self) -> None:
        if self._walks.count % self._every:
            return
        self._counts.append(self._live._tracer.tally.live)
        recent = self._counts[-LOOKS:]
        if len(recent) == LOOKS and all(one < two for one, two in zip(recent, recent[1:])):
            self._walks.after_each = lambda: None
            tracer = self._live._tracer
            tracer.growth.look(list(user_frames(sys._getframe(1), tracer.tally.is_foreign)))
            text = self._live.report()
            site = tracer.tally.here(1)
            words = text if GROWING in text else f"{GROWING}: {recent[-1]} autograd nodes are alive"
            warnings.warn_explicit(words, GraphsGrow, site.file, site.line)

    def stop(self) -> None:
        """Look no longer."""
        self._walks.after_each = lambda: None
        self._live.stop()

"""How far a campaign has come, while it runs: a line that is written anew on a terminal, a line every ten seconds in a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from graphfix.campaign.state import Stage, State, Target

EVERY = 10.0  # seconds between lines of a log


class Progress:
    """Writes to `stream`. `until`: the stages at which a repository counts as done."""

    def __init__(self, state: State, stream: TextIO, until: frozenset[Stage], now: Callable[[], float] = time.monotonic) -> None:
        self._known = {target.name: target for target in state.targets()}
        self._stream, self._until, self._now = stream, until, now
        self._began = self._told = now()
        self._before = self._done()
        self._line = ""

    def __call__(self, moved: Target | None) -> None:
        """A repository has `moved`, or a second has gone by."""
        if moved is not None:
            self._known[moved.name] = moved
        if self._stream.isatty():
            self._rewrite(self.line())
        elif self._now() - self._told >= EVERY:
            self._told = self._now()
            self._stream.write(self.line() + "\n")
            self._stream.flush()

    def end(self) -> None:
        """Leave the line as it is last."""
        if self._stream.isatty():
            self._rewrite(self.line())
            self._stream.write("\n")
            self._stream.flush()

    def line(self) -> str:
        """What is done, found, repaired and failed so far, and how long the rest may take."""
        targets = self._known.values()
        done = self._done()
        findings = sum(sum(target.facts.get("findings", {}).values()) for target in targets)
        fixes = sum(target.facts.get("fixable", 0) for target in targets)
        failed = sum(target.stage is Stage.FAILED for target in targets)
        words = [f"{done}/{len(self._known)} repositories", f"{findings} findings", f"{fixes} fixes", f"{failed} failed"]
        left = len(self._known) - done
        if left and done > self._before:
            words.append(f"about {told((self._now() - self._began) / (done - self._before) * left)} left")
        return ", ".join(words)

    def _done(self) -> int:
        return sum(target.stage in self._until for target in self._known.values())

    def _rewrite(self, line: str) -> None:
        self._stream.write("\r" + line.ljust(len(self._line)))
        self._stream.flush()
        self._line = line


def told(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

"""The files of a run whose outcome is known before any worker is there: what nothing has happened to needs none.

Of files whose bytes cannot matter, only their states are kept: size and times tell that they are as they were, as git takes it
(https://git-scm.com/docs/racy-git). The outcomes of all others are made of what `graphfix.run.texts` has kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from graphfix.run.examine import Job, recalled
from graphfix.run.outcome import Outcome
from graphfix.source.reads import State, state_of

# a file that has changed so shortly before it was read may change again without a sign of it: some file systems count in twos
SETTLED = 2 * 10**9  # nanoseconds


class Answers:
    """What is known of `files` beforehand; `note` each outcome, and `keep` what later runs can go by."""

    def __init__(self, files: Iterable[Path], job: Job) -> None:
        self._cache = job.cache if job.keeps else None
        self._idle: dict[str, State] = {}
        self._states: dict[str, State] = {}
        self.known: dict[Path, Outcome] = {}
        if self._cache is None:
            return
        self._began = time.time_ns()
        self._rules = _rules(job)
        idle = self._cache.idle(self._rules)
        self._idle = idle or {}
        files = list(files)
        self._states = {str(path): state_of(path) for path in files}
        for path in files if idle is not None else ():  # where nothing is kept yet, workers find that out
            outcome = self._answer(path, job)
            if outcome is not None:
                self.known[path] = outcome.light

    def _answer(self, path: Path, job: Job) -> Outcome | None:
        if path not in job.named and self._idle.get(os.path.abspath(path)) == self._states[str(path)]:
            return Outcome(path, passed_over=True)
        return recalled(path, job)

    def note(self, outcome: Outcome) -> None:
        """Take in what became of a file, in this run or an earlier one."""
        if self._cache is None:
            return
        name, state = os.path.abspath(outcome.path), self._states.get(str(outcome.path))
        if not outcome.passed_over:
            self._idle.pop(name, None)
        elif state is not None and max(state[1:]) < self._began - SETTLED:
            self._idle[name] = state

    def keep(self) -> None:
        """Keep what was noted; to be called once all outcomes are there."""
        if self._cache is not None and self._idle != self._cache.idle(self._rules):
            self._cache.keep_idle(self._rules, self._idle)


def _rules(job: Job) -> Mapping[str, list[str]]:
    """What decides, besides its bytes, whether a file can matter: the functions that settings name, by the folder that these are of."""
    scopes = {str(folder): scope.wanted for folder, scope in job.scopes.items()} or {"": job.wanted}
    return {folder: sorted(wanted.conventions.walking) for folder, wanted in scopes.items()}

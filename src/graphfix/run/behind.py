"""Files examined behind the back of this process, which may think better of it at any time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from graphfix.run.examine import Job
from graphfix.run.outcome import Outcome, Status
from graphfix.run.pool import EXAMINE, begin_worker, no_interrupt, pooled, warm


class Behind:
    """Examines `files` in a fork, which has a pool of its own: that one survives the files that take a worker down."""

    def __init__(self, files: Sequence[Path], job: Job, jobs: int) -> None:
        warm(repair=job.repair or job.edits)
        self._files = tuple(files)
        context = multiprocessing.get_context("fork")
        with no_interrupt():
            self._line, theirs = context.Pipe(duplex=False)
            self._process = context.Process(target=_work, args=(self._files, job, jobs, theirs))
            self._process.start()
            theirs.close()
            del theirs  # Python loses an interrupt that falls into the end of an object

    def outcomes(self) -> Mapping[Path, Outcome] | None:
        """What was found in each file; None as long as that is under way."""
        if not self._line.poll():
            return None
        try:
            done: list[Outcome] = self._line.recv()
        except EOFError:
            done = [Outcome(path, Status.INTERNAL, "its worker process was killed from outside") for path in self._files]
        return dict(zip(self._files, done, strict=True))

    def end(self) -> None:
        """Leave nothing of it, wherever it is: the workers of its pool go with it."""
        with no_interrupt():
            self._process.kill()
            self._process.join()
            self._process.close()
            self._line.close()
            del self._process, self._line


def _work(files: Sequence[Path], job: Job, jobs: int, line: Connection) -> None:
    begin_worker()
    # all at once: nobody takes a part while this one waits for room in the pipe
    line.send(list(pooled(files, job, jobs, EXAMINE)))
    line.close()

"""All files, one after the other or over several processes: outcomes come in the order of the files."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from graphfix.run.collection import uncollected
from graphfix.run.examine import Job, examine
from graphfix.run.limits import LARGE, bytes_of, limited_memory, spare_memory
from graphfix.run.outcome import Outcome

MIN_FILES = 32


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def examine_all(files: Sequence[Path], job: Job, jobs: int) -> Generator[Outcome, None, None]:
    """One outcome per file, in order, without the bytes of what is not changed; in this process unless a pool pays."""
    if not job.keeps:
        yield from _examined_all(files, job, jobs)
        return
    from graphfix.run.answers import Answers

    answers = Answers(files, job)
    with closing(_examined_all([path for path in files if path not in answers.known], job, jobs)) as fresh:
        for left, path in zip(range(len(files) - 1, -1, -1), files, strict=True):
            outcome = answers.known.pop(path, None) or next(fresh)
            answers.note(outcome)
            if not left:  # whoever counts the outcomes asks for no further one
                answers.keep()
            yield outcome


def _examined_all(files: Sequence[Path], job: Job, jobs: int) -> Generator[Outcome, None, None]:
    # only fork: a spawned worker starts Python anew, with the working directory on its import path
    if jobs > 1 and len(files) > MIN_FILES and hasattr(os, "fork"):
        from graphfix.run.pool import pooled

        yield from pooled(files, job, jobs)
    else:
        with uncollected():
            for path in files:
                yield examined_here(path, job).light
                spare_memory()


def examined_here(path: Path, job: Job, data: bytes | None = None) -> Outcome:
    """The outcome of the file (or of `data` in its stead) without a pool, with no more memory than a worker has.

    A large one gets a worker all the same: code that is not Python, such as libcst's parser, ends the process that has none left.
    """
    if bytes_of(path, data) > LARGE and hasattr(os, "fork"):
        from graphfix.run.pool import apart

        return apart(path, job, data)
    with limited_memory():
        return examine(path, job, data)

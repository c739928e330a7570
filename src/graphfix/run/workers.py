"""All files, one after the other or over several processes: outcomes come in the order of the files."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from graphfix.run.collection import uncollected
from graphfix.run.examine import Job, examine
from graphfix.run.limits import LARGE, bytes_of, limited_memory, spare_memory
from graphfix.run.outcome import Outcome
from graphfix.run.task import Made, Task
from graphfix.source.real import real_path

MIN_FILES = 32


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def examine_all(files: Sequence[Path], job: Job, jobs: int) -> Generator[Outcome, None, None]:
    """One outcome per file, in order, without the bytes of what is not changed; in this process unless a pool pays.

    Each program is run once, whichever files it shows something of: what comes of it is kept for this run where it is for no later one.
    """
    is_kept = job.cache is not None and job.witness is None
    if (len(files) > 1 or is_kept or _is_used(files, job)) and job.tellers is None and not job.is_blamed:
        from graphfix.run.cache import for_this_run
        from graphfix.run.tellers import planned

        # what a traced run has shown is no part of what is kept
        cache = None if job.witness is not None else job.cache if job.cache is not None else for_this_run()
        job = planned(files, replace(job, cache=cache), jobs)
    elif not job.examined:
        job = replace(job, examined=frozenset(Path(real_path(file)) for file in files))
    yield from _outcomes(files, job, jobs)


def _is_used(files: Sequence[Path], job: Job) -> bool:
    """Whether programs come to one file alone: then it is answered as it is among others, and without a cache as with one."""
    from graphfix.project.importers import programs_of

    return job.witness is None and any(programs_of(file, job.roots) for file in files)


def _outcomes(files: Sequence[Path], job: Job, jobs: int) -> Generator[Outcome, None, None]:
    if job.cache is None or job.cache.file is None or not job.keeps:
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
    if _pays(files, jobs):
        from graphfix.run.pool import EXAMINE, pooled

        yield from pooled(files, job, jobs, EXAMINE)
    else:
        with uncollected():
            for path in files:
                yield examined_here(path, job).light
                spare_memory()


def each_of(files: Sequence[Path], job: Job, jobs: int, task: Task[Made]) -> Iterator[Made]:
    """What the task makes of each file, in order; in this process unless a pool pays."""
    if _pays(files, jobs):
        from graphfix.run.pool import pooled

        yield from pooled(files, job, jobs, task)
        return
    with uncollected():
        for path in files:
            if is_large(path, None):
                from graphfix.run.pool import apart

                yield apart(path, job, task)
                continue
            with limited_memory():
                made = task.make(path, job, None)
            yield made
            spare_memory()


def is_large(path: Path, data: bytes | None) -> bool:
    """Whether a file gets a worker: code that is not Python, such as libcst's parser, ends the process that has no more memory."""
    return bytes_of(path, data) > LARGE and hasattr(os, "fork")


def _pays(files: Sequence[Path], jobs: int) -> bool:
    """Whether a pool does; only by fork: a spawned worker starts Python anew, with the working directory on its import path."""
    return jobs > 1 and len(files) > MIN_FILES and hasattr(os, "fork")


def examined_here(path: Path, job: Job, data: bytes | None = None) -> Outcome:
    """The outcome of the file (or of `data` in its stead) without a pool, with no more memory than a worker has.

    A large one gets a worker all the same.
    """
    if is_large(path, data):
        from graphfix.run.pool import EXAMINE_WHOLE, apart

        return apart(path, job, EXAMINE_WHOLE, data)
    with limited_memory():
        return examine(path, job, data)

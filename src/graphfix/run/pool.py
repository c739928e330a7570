"""A pool of forked workers; one that dies costs the file that killed it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphfix.models.words import spells
from graphfix.run.examine import Job, examine
from graphfix.run.limits import ended_when_stuck, limit_memory, make_room, spare_memory
from graphfix.run.outcome import Outcome, Status
from graphfix.run.task import Made, Task
from graphfix.source.errors import SourceError
from graphfix.source.reading import read_bytes

_BATCH = 8
# not every system has each
_ENDING = {getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}


def _light(path: Path, job: Job, data: bytes | None) -> Outcome:
    return examine(path, job, data).light


def _dead(path: Path) -> Outcome:
    return Outcome(
        path, Status.INTERNAL, "its worker process died: it took too long or too much memory, or was killed from outside"
    )


EXAMINE = Task(_light, _dead)
EXAMINE_WHOLE = Task(examine, _dead)
# what a worker does with its files: it comes with the fork, for it may be large and each batch would carry it
_jobs: list[tuple[Job, Task[Any]]] = []


def pooled(files: Sequence[Path], job: Job, jobs: int, task: Task[Made]) -> Iterator[Made]:
    """What the task makes of each file, in order, from `jobs` workers at most."""
    warm(repair=job.repair or job.edits)
    if any(map(_may_be_analysed, files)):
        warm_analysis(job)
    gc.freeze()  # workers share what is there by now as long as nobody touches it, not even to collect
    batches = deque(list(files[start : start + _BATCH]) for start in range(0, len(files), _BATCH))
    while batches:
        yield from _until_broken(batches, job, jobs, task)
        # a worker died: find the file that killed it, the others still get their outcome, and those after it a new pool
        for path in batches.popleft() if batches else ():
            yield apart(path, job, task)


def _until_broken(batches: deque[list[Path]], job: Job, jobs: int, task: Task[Made]) -> Iterator[Made]:
    """What is made of the batches, which it takes away, up to one whose worker died."""
    pool = _pool(min(jobs, len(batches)), job, task)
    try:
        with no_interrupt():
            pending: list[Future[list[Made]]] = [pool.submit(_make_batch, batch) for batch in batches]
        for future in pending:
            done = future.result()
            batches.popleft()
            if not batches:
                # whoever counts the outcomes asks for no further one: what is not over by then would stumble when the interpreter ends
                pool.shutdown(wait=True, cancel_futures=True)
            yield from done
    except (BrokenProcessPool, MemoryError):  # or the worker had no memory left to send what it had found
        pool.shutdown(wait=True, cancel_futures=True)
        return
    except BaseException:
        # Ctrl-C, or a reader that stopped: nobody waits for the files still under way, nor for a worker that died with a
        # lock of the pool in its hands
        for worker in multiprocessing.active_children():
            worker.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _pool(workers: int, job: Job, task: Task[Any]) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("fork")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(job, task))


@contextmanager
def no_interrupt() -> Iterator[None]:
    """Keep Ctrl-C and its like waiting: Python loses one that falls into its own work around a fork."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(job: Job, task: Task[Any]) -> None:
    _jobs[:] = [(job, task)]
    begin_worker()


def begin_worker() -> None:
    """Make this fork a worker: it ends at once and silently when it is to end, and when its parent does."""
    # Ctrl-C reaches the whole group: a worker goes at once and silently, the parent tells what was written
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # `uncollected` collects
    limit_memory()


def _end_with_parent() -> None:
    """A parent that was killed tells nobody: a worker would wait for its next files for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def warm(*, repair: bool) -> None:
    """Import the heavy modules once, before the fork: those that write as well where there is something to `repair`."""
    import graphfix.run.engine  # noqa: F401

    if repair:
        import graphfix.rewrite  # noqa: F401
        import graphfix.rewrite.fixpoint  # noqa: F401


def warm_analysis(job: Job) -> None:
    """Import what a file that may matter needs, too, and find out who imports whom.

    Whatever lives on in a worker keeps the memory around it from going back, where it comes among what its files leave behind.
    """
    import graphfix.analysis.evidence  # noqa: F401
    import graphfix.analysis.health  # noqa: F401
    import graphfix.codemods  # noqa: F401
    import graphfix.obligations.proof  # noqa: F401
    from graphfix.effects.table import table
    from graphfix.project.importers import imports_below

    table()
    for root in job.roots:
        imports_below(Path(os.path.realpath(root)))


def _may_be_analysed(path: Path) -> bool:
    """Whether the bytes of a file spell what the analysis is about."""
    try:
        return spells(read_bytes(path))
    except SourceError:
        return False  # examining it tells why


def _make_batch(batch: list[Path]) -> list[Any]:
    return [_make_one(path) for path in batch]


def _make_one(path: Path, data: bytes | None = None) -> Any:
    make_room(path, data)
    job, task = _jobs[0]
    with ended_when_stuck():
        made = task.make(path, job, data)
    spare_memory()
    return made


def apart(path: Path, job: Job, task: Task[Made], data: bytes | None = None) -> Made:
    """What the task makes of one file (or of `data` in its stead) in a worker of its own, which it may take down."""
    warm(repair=job.repair or job.edits)
    with _pool(1, job, task) as pool:
        try:
            with no_interrupt():
                pending = pool.submit(_make_one, path, data)
            return pending.result()
        except (BrokenProcessPool, MemoryError):
            return task.lost(path)
        except BaseException:  # Ctrl-C: nobody waits for it any more
            for worker in multiprocessing.active_children():
                worker.kill()
            raise

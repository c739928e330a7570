"""Where stages are worked on: in processes of this machine, or on a Dask cluster that sees the campaign's folder."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from typing import Any

from graphfix.campaign.stages import end_all
from graphfix.installation import command

_TALKING = ("distributed", "distributed.client", "distributed.comm", "distributed.utils", "tornado.application")


class NoEngine(Exception):
    """Nothing to work with, and why."""


@contextlib.contextmanager
def local(workers: int) -> Iterator[Executor]:
    """Threads of this process that wait for the commands which they start; what is under way ends with the block."""
    pool = ThreadPoolExecutor(max(1, workers))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        end_all()
        pool.shutdown(wait=True)


class _Cluster(Executor):
    """The workers of a Dask cluster, which forget each result as soon as it is here.

    As long as a result is wanted, a cluster that loses the worker which holds it does the stage anew: behind the back of the next one.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        told: Future[Any] = Future()
        self._client.submit(fn, *args, pure=False, **kwargs).add_done_callback(lambda asked: _hand_on(asked, told))
        return told


def _hand_on(asked: Any, told: Future[Any]) -> None:
    """Give the outcome of a Dask future to `told`; one whose result cannot be had any more is cancelled."""
    said: list[Any] = []
    with contextlib.suppress(CancelledError, OSError):
        said = asked.client.gather([asked], errors="skip")
    if said:
        asked.release()
        told.set_result(said[0])
    elif asked.status == "error":
        told.set_exception(asked.exception())
    else:
        told.cancel()
        told.set_running_or_notify_cancel()  # wakes who waits for it


@contextlib.contextmanager
def dask(scheduler: str) -> Iterator[tuple[Executor, int]]:
    """The workers of the cluster at the address `scheduler`, and how many stages they take at a time.

    A stage whose worker is gone begins anew on another (https://distributed.dask.org/en/stable/resilience.html). Only small plain data
    goes through the scheduler.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise NoEngine(f"dask is not installed: {command(extra='dask')}") from error
    for name in _TALKING:  # the campaign itself says in one line what they would say with tracebacks
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(scheduler, timeout=20, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoEngine(f"there is no scheduler at {scheduler}: {error}") from error
    try:
        workers = sum(client.nthreads().values())
        if not workers:
            raise NoEngine(f"the scheduler at {scheduler} has no workers")
        yield _Cluster(client), workers
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=5)

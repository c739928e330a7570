"""Where stages are worked on: in processes of this machine, or on a Dask cluster that sees the campaign's folder."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor

from graphfix.campaign.stages import end_all

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


@contextlib.contextmanager
def dask(scheduler: str) -> Iterator[tuple[Executor, int]]:
    """The workers of the cluster at the address `scheduler`, and how many stages they take at a time.

    A stage whose worker is gone begins anew on another (https://distributed.dask.org/en/stable/resilience.html). Only small plain data
    goes through the scheduler.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise NoEngine("dask is not installed: pip install 'graphfix[dask]'") from error
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
        yield client.get_executor(pure=False), workers
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            client.close(timeout=5)

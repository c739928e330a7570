"""When what the analysis leaves behind is collected: once there is much of it.

A tape makes many small objects that live until its end. Python's collector would go over them again and again on the way.
https://docs.python.org/3/library/gc.html
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 3_000_000  # objects that were made and not let go since the last collection: most are files that are parsed, and stay


@contextmanager
def uncollected(*, is_done: bool = False) -> Iterator[None]:
    """No collection in the block, unless there is much to collect at the end of one that stands in it.

    `is_done`: what the block has made is not needed behind it, so that what is left there is not looked at again.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > MANY:
            gc.collect(1 if is_done else 0)
        if collecting:
            gc.enable()

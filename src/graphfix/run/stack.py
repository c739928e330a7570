"""Room for the frames of deep calls, taken at once.

Since Python 3.11 frames lie in chunks of 16 KiB, and a chunk goes back to the system when its first frame ends: what recurses, as an
interpreter does, asks for memory and gives it back each time it crosses the end of one. A frame that may need much gets a chunk as large,
and what is called from it finds its place there.
https://github.com/python/cpython/blob/v3.11.9/Python/pystate.c (push_chunk, _PyThreadState_PopFrame)
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TypeVar

Result = TypeVar("Result")

# entries of 8 bytes that the frame asks for: its chunk has 8 MiB, of which it uses nothing and leaves more than a third to others
_ENTRIES = 600_000


def with_room(call: Callable[[], Result]) -> Result:
    """What `call` gives; memory that its frames do not come to is asked for, but never taken."""
    return _roomy(call)


def _called(call: Callable[[], Result]) -> Result:
    return call()


_roomy = FunctionType(_called.__code__.replace(co_stacksize=_ENTRIES), globals())

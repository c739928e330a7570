"""graphfix finds and repairs misuse of PyTorch's autograd graph.

`trace`, `watch`: a look at the graphs of a program from the inside, such as in a notebook; they need PyTorch, the rest does not.
"""

from __future__ import annotations

TYPE_CHECKING = False  # nothing is imported before the working folder is off the path: a `typing.py` may lie there
if TYPE_CHECKING:
    from graphfix.traced.live import Live, Watcher

__version__ = "0.1.0"
__all__ = ["__version__", "trace", "watch"]


def trace() -> Live:
    """A context in which all graphs of this process are followed.

    >>> with graphfix.trace() as t:  # doctest: +SKIP
    ...     train()
    >>> print(t.report())  # doctest: +SKIP

    Raises ImportError where there is no PyTorch, RuntimeError where another one is open.
    """
    from graphfix.traced.live import Live

    return Live()


def watch(every: int = 100) -> Watcher:
    """Follow all graphs from now on, look every `every` backward passes, and warn once where more and more of them are alive.

    The result has `stop()`. Raises as `trace` does, and ValueError for less than one pass.
    """
    from graphfix.traced.live import Watcher

    return Watcher(every)

"""Where in a run something happens: in which active calls, and in which iterations of which loops."""

from __future__ import annotations

import ast
from typing import Any

# The statement that each active call was at, outermost first; what a call is, is the interpreter's business.
CallStack = tuple[tuple[Any, ast.stmt], ...]
# One entry for each enclosing loop, outermost first: (which entry into which loop, iteration).
Context = tuple[tuple["LoopEntry", int], ...]


class LoopEntry:
    """One entry into a loop: two entries into the same loop are two objects. `goes_on`: after the simulated iterations come more.

    `further`: the first of the iterations that are simulated only because those before had come to no end.
    """

    __slots__ = ("loop", "frame", "goes_on", "further")

    def __init__(self, loop: ast.AST | None, frame: object) -> None:
        self.loop = loop
        self.frame = frame
        self.goes_on = False
        self.further: int | None = None


def is_further(context: Context) -> bool:
    """Whether something happens in an iteration that is not run of every version of a program."""
    return any(entry.further is not None and iteration >= entry.further for entry, iteration in context)


def split_loop(earlier: Context, later: Context) -> int | None:
    """Index of the outermost loop in which `earlier` and `later` lie in different iterations of one entry."""
    for index, (one, two) in enumerate(zip(earlier, later)):
        if one[0] is not two[0]:
            return None
        if one[1] != two[1]:
            return index
    return None


def is_before_loop(made: Context, now: Context, loop: int) -> bool:
    """Whether something `made` there is older than the loop at this index of `now`, in which it has come `now` to a place."""
    return len(made) <= loop and now[: len(made)] == made

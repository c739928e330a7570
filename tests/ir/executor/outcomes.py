"""How a code object, or a part of it, ends."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

from graphfix.ir.blocks import Block


@dataclass(slots=True, eq=False)
class Returned:
    """It returned this value."""

    value: Any


class Raised:
    """It raised this exception, which goes to `handler`, or out of the code object.

    A second `raise` of an exception changes its context and traceback: they are kept as they are now.
    """

    __slots__ = ("context", "error", "handler", "traceback")

    def __init__(self, error: BaseException, handler: Block | None) -> None:
        self.error = error
        self.handler = handler
        self.context: BaseException | None = error.__context__
        self.traceback: TracebackType | None = error.__traceback__

    def restore(self) -> None:
        self.error.__context__ = self.context
        self.error.__traceback__ = self.traceback


@dataclass(slots=True, eq=False)
class Paused:
    """It waits in the instruction of this number."""

    block: Block
    index: int


@dataclass(slots=True, eq=False)
class Out:
    """What a code object that waits hands out: what is `yield`ed, or what is `awaited` hands out."""

    value: Any
    awaited: bool = False


@dataclass(slots=True, eq=False)
class Thrown:
    """What is sent to a code object that waits, where an exception is thrown into it; or what comes from what it waits for.

    `outside`: it is the answer to an exception that was thrown in.
    """

    error: BaseException
    outside: bool = True


Outcome = Block | Returned | Raised | Paused


def finish(outcome: Outcome) -> Any:
    """Return or raise as the code object did."""
    if isinstance(outcome, Returned):
        return outcome.value
    assert isinstance(outcome, Raised)
    try:
        raise outcome.error
    except BaseException:
        outcome.restore()
        raise
    finally:
        del outcome

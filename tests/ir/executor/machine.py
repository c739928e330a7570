"""The loop that runs the blocks of a code object.

An exception that is being handled is one for Python too: the blocks of a handler run inside of an `except` of this file, so that
`sys.exc_info`, a bare `raise` and `__context__` are CPython's own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Suspension, Yield

from .frames import Frame
from .outcomes import Out, Outcome, Paused, Raised, Thrown
from .steps import STEPS
from .waiting import handed, waited, waits
from .ways import WAYS

Run = Generator[Any, Any, Outcome]


def level(frame: Frame, outcome: Outcome, depth: int) -> Outcome:
    """Run from a block on, while at least `depth` exceptions are handled: how that ends, or the block where fewer are."""
    while True:
        if isinstance(outcome, Raised):
            handler = outcome.handler
            if handler is None or len(handler.handling) <= depth:
                return outcome
            try:
                raise outcome.error
            except BaseException as error:
                outcome.restore()
                frame.caught = error
                outcome = level(frame, handler, depth + 1)
        elif isinstance(outcome, Block) and len(outcome.handling) >= depth:
            outcome = advanced(frame, outcome, 0)
        else:
            return outcome


def suspended(frame: Frame, outcome: Outcome, depth: int) -> Run:
    """The same for a code object that waits. It is sent what is sent to that, also an exception: nothing is thrown in here."""
    while True:
        if isinstance(outcome, Raised):
            handler = outcome.handler
            if handler is None or len(handler.handling) <= depth:
                return outcome
            try:
                raise outcome.error
            except BaseException as error:
                outcome.restore()
                frame.caught = error
                outcome = yield from suspended(frame, handler, depth + 1)
        elif isinstance(outcome, Paused):
            outcome = yield from resumed(frame, outcome)
        elif isinstance(outcome, Block) and len(outcome.handling) >= depth:
            outcome = advanced(frame, outcome, 0)
        else:
            return outcome


def resumed(frame: Frame, paused: Paused) -> Run:
    """Wait for what an instruction waits for, and go on behind it."""
    instruction, dying = frame.plan[paused.block].steps[paused.index]
    if isinstance(instruction, Yield) and instruction.how is Suspension.YIELD:
        got = yield Out(frame.values[instruction.value])
    else:
        try:
            inner = waited(frame, instruction)
        except BaseException as error:
            return Raised(error, paused.block.handler)
        got = yield from handed(inner)
    if isinstance(got, Thrown):
        return thrown(got, paused.block)
    if isinstance(got, Block):
        return got
    frame.keep(instruction, got, dying)
    return advanced(frame, paused.block, paused.index + 1)


def thrown(thrown: Thrown, block: Block) -> Raised:
    """An exception that is thrown in from outside gets what the code object itself handles as its context."""
    if block.handling and thrown.outside:
        try:
            raise thrown.error
        except BaseException:
            pass
    return Raised(thrown.error, block.handler)


def advanced(frame: Frame, block: Block, index: int) -> Outcome:
    """Run the instructions of a block from `index` on, as far as the next one that waits."""
    plan = frame.plan[block]
    if not index:
        frame.forget(plan)
    try:
        for instruction, dying in plan.steps[index:]:
            if waits(instruction):
                return Paused(block, index)
            kind = type(instruction)
            if kind in WAYS:
                return WAYS[kind](frame, instruction)
            frame.keep(instruction, STEPS[kind](frame, instruction), dying)
            index += 1
    except BaseException as error:
        return Raised(error, block.handler)
    raise AssertionError(f"block {block.number} has no end")


def started(frame: Frame) -> Any:
    """Run a code object: how it ends, or what runs it as far as it waits."""
    if frame.code.is_generator or frame.code.is_coroutine:
        return going(suspended(frame, frame.code.entry, 0))
    return level(frame, frame.code.entry, 0)


def going(steps: Run) -> Callable[[Any], Any]:
    """What takes a code object that waits to where it waits next, or to its end."""

    def go(message: Any) -> Any:
        try:
            return steps.send(message)
        except StopIteration as stop:
            # the garbage collector may have ended it first
            return stop.value or Raised(message.error, None)

    return go

"""The instructions that end a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Branch, Instruction, Jump, Next, Raise, Return

from .frames import Frame
from .outcomes import Outcome, Returned

NO_MORE = object()


def next_one(frame: Frame, instruction: Next) -> Block:
    item = next(frame.values[instruction.iterator], NO_MORE)
    if item is NO_MORE:
        return instruction.end
    assert instruction.result is not None
    frame.values[instruction.result] = item
    return instruction.body


def branch(frame: Frame, instruction: Branch) -> Block:
    return instruction.yes if frame.values[instruction.condition] else instruction.no


def jump(frame: Frame, instruction: Jump) -> Block:
    return instruction.target


def returned(frame: Frame, instruction: Return) -> Returned:
    return Returned(frame.values[instruction.value])


def raised(frame: Frame, instruction: Raise) -> Outcome:
    """What is raised again is what is handled here, or by a caller."""
    if instruction.again or instruction.exception is None:
        raise  # noqa: PLE0704
    exception = frame.values[instruction.exception]
    if instruction.cause is None:
        raise exception
    raise exception from frame.values[instruction.cause]


WAYS: dict[type[Instruction], Callable[[Frame, Any], Outcome]] = {
    Next: next_one,
    Branch: branch,
    Jump: jump,
    Return: returned,
    Raise: raised,
}

"""The instructions for which a code object is left for a while."""

from __future__ import annotations

import inspect
import types
from collections.abc import Coroutine, Generator
from typing import Any

from graphfix.ir.blocks import Block
from graphfix.ir.instructions import Enter, Exit, Instruction, Next, Suspension, Yield

from .frames import Frame
from .outcomes import Out, Thrown
from .steps import bound, entered, left

Steps = Generator[Any, Any, Any]


def waits(instruction: Instruction) -> bool:
    return type(instruction) is Yield or isinstance(instruction, (Enter, Exit, Next)) and instruction.asynchronous


def handed(inner: Steps | Coroutine[Any, Any, Any]) -> Steps:
    """Hand on what `inner` waits for, and hand it what is sent, or thrown: its result, or what it has raised."""
    move: Any = inner.send
    item: Any = None
    message: Any = None
    while True:
        try:
            given = move(item)
        except StopIteration as stop:
            return stop.value
        except BaseException as error:
            return Thrown(error, isinstance(message, Thrown))
        message = yield Out(given, True)
        move, item = (inner.throw, message.error) if isinstance(message, Thrown) else (inner.send, message)


def waited(frame: Frame, instruction: Instruction) -> Steps | Coroutine[Any, Any, Any]:
    """What the instruction waits for; it returns the result."""
    if isinstance(instruction, Yield):
        value = frame.values[instruction.value]
        return delegated(value) if instruction.how is Suspension.FROM else wait(value)
    if isinstance(instruction, Enter):
        return wait_for(entered(frame, instruction), "'async with' received an object from __aenter__ that does not implement __await__: {}")
    if isinstance(instruction, Exit):
        return wait_for(left(frame, instruction), "'async with' received an object from __aexit__ that does not implement __await__: {}")
    assert isinstance(instruction, Next)
    return following(frame, instruction)


@types.coroutine
def delegated(iterator: Any) -> Steps:
    return (yield from iterator)


async def wait(value: Any) -> Any:
    return await value


async def wait_for(value: Any, otherwise: str) -> Any:
    if not inspect.isawaitable(value):
        raise TypeError(otherwise.format(type(value).__name__))
    return await value


class Begun:
    """What has said already how it is waited for."""

    def __init__(self, promised: Any) -> None:
        step = bound(promised, "__await__")
        if step is None and not inspect.isawaitable(promised):
            raise TypeError(f"object {type(promised).__name__} can't be used in 'await' expression")
        self.steps = step() if step is not None else promised

    def __await__(self) -> Any:
        return self.steps


async def following(frame: Frame, instruction: Next) -> Block:
    """The next item of an asynchronous iterator."""
    iterator = frame.values[instruction.iterator]
    step = bound(iterator, "__anext__")
    if step is None:
        raise TypeError(f"'async for' requires an iterator with __anext__ method, got {type(iterator).__name__}")
    promised = step()
    try:
        begun = promised if isinstance(promised, types.CoroutineType) else Begun(promised)
    except Exception as error:
        raise TypeError(f"'async for' received an invalid object from __anext__: {type(promised).__name__}") from error
    try:
        item = await begun
    except StopAsyncIteration:
        return instruction.end
    assert instruction.result is not None
    frame.values[instruction.result] = item
    return instruction.body

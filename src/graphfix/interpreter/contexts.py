"""Context managers: what runs where a `with` is entered, and what where it is left.

A generator under `contextlib.contextmanager` waits at its `yield` in between: https://docs.python.org/3/library/contextlib.html.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from graphfix.interpreter.calls import call, is_too_deep, opened, run_body, run_frame
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.interpreter import Interpreter, Raise, Stop, Suspend
from graphfix.interpreter.lookup import find_method
from graphfix.interpreter.values import (
    NONE,
    BoundMethod,
    Exit,
    ExitStack,
    Function,
    GradMode,
    Instance,
    Manager,
    NonTensor,
    Sequence,
    Unknown,
    Value,
    given,
)

CHANGED_BY = ("no_grad", "enable_grad")  # wrappers whose mode is that of the function's own code alone


class Entered(NamedTuple):
    """`value`: what `with manager as x` binds to x. `mode`: the grad mode of the block (None: as it was). `exit`: what is left to do."""

    value: Value
    mode: bool | None = None
    exit: Exit | None = None


def enter_context(m: Interpreter, manager: Value, site: ast.AST) -> Entered:
    """Enter a context."""
    if isinstance(manager, GradMode):
        return Entered(NONE, manager.enabled)
    if isinstance(manager, Manager):
        return begin(m, manager)
    if isinstance(manager, ExitStack):
        return Entered(manager, None, exit_of(manager, site))
    if isinstance(manager, Sequence) and manager.kind == "generator":
        return Entered(manager.items[0] if manager.items else NONE, manager.grad_mode)
    if isinstance(manager, Instance):
        return enter_object(m, manager, site)
    return Entered(manager)


def enter_object(m: Interpreter, manager: Instance, site: ast.AST) -> Entered:
    """Enter an object of a class of the project."""
    entered: Value = manager
    before = m.grad_enabled
    enters = find_method(manager, "__enter__") or find_method(manager, "__aenter__")
    if enters is not None:
        entered = call(m, enters, [], {}, site)
    return Entered(entered, m.grad_enabled if m.grad_enabled != before else None, exit_of(manager, site))


def exit_of(manager: Value, site: ast.AST) -> Exit | None:
    """What leaving a context that is entered elsewhere, or a function in its place, does as far as it is in sight."""
    if isinstance(manager, ExitStack):
        return partial(leave_all, manager)
    exits = find_method(manager, "__exit__") or find_method(manager, "__aexit__") if isinstance(manager, Instance) else manager
    return partial(leave_object, exits, site) if isinstance(exits, (Function, BoundMethod)) else None


def leave_object(exits: Value, site: ast.AST, m: Interpreter, ended: Stop | None) -> Stop | None:
    """Call what is told how a block has ended; if it answers yes, it keeps what is raised to itself."""
    is_raised = isinstance(ended, Raise)
    told: list[Value] = [NonTensor(("raised", site, index, m.now())) if is_raised else NONE for index in range(3)]
    answer = call(m, exits, told, {}, site)
    return None if is_raised and not answer.is_off and answer.truth else ended


def leave_all(stack: ExitStack, m: Interpreter, ended: Stop | None) -> Stop | None:
    """Do what an `ExitStack` has been left to do, the last first."""
    while stack.exits:
        ended = stack.exits.pop()(m, ended)
    return ended


def begin(m: Interpreter, manager: Manager) -> Entered:
    """Run a generator up to its `yield`."""
    function = manager.function
    if is_too_deep(m, function.definition):
        return Entered(m.unknown(manager.site, given(manager.arguments, manager.keywords)))
    frame = opened(m, function, manager.arguments, manager.keywords, manager.site)
    frame.waits = True
    m.recording.returned[frame] = NONE
    try:
        run_frame(m, frame, function, partial(run_body, m, frame, function.definition))
    except Suspend as waiting:
        frame.waits = False
        mode = None if any(each in CHANGED_BY for each in function.wrappers) else waiting.grad_enabled
        m.tries += waiting.tries
        return Entered(waiting.value, mode, partial(go_on, frame, function, waiting))
    except Raise:
        if m.tries:
            raise
    return Entered(Unknown(("entered", manager.site, m.now())))


def go_on(frame: Frame, function: Function, waiting: Suspend, m: Interpreter, ended: Stop | None) -> Stop | None:
    """Run a generator on from its `yield`, where what has ended the block is raised if it was an error. Returns what is left of it."""
    is_raised = isinstance(ended, Raise)
    run: Callable[[], None] = partial(raised_again, is_raised)
    for rest in waiting.rest:
        run = partial(rest, run)
    try:
        run_frame(m, frame, function, run)
    except Raise as again:
        return again if is_raised or m.tries else ended
    return None if is_raised else ended


def raised_again(is_raised: bool) -> None:
    if is_raised:
        raise Raise


class Outside(NamedTuple):
    """What a block of a `with` may not change for what stands behind it."""

    grad_enabled: bool
    tries: int

    @classmethod
    def of(cls, m: Interpreter) -> Outside:
        return cls(m.grad_enabled, m.tries)

    def restore(self, m: Interpreter) -> None:
        m.grad_enabled, m.tries = self


def in_contexts(m: Interpreter, exits: list[Exit], outside: Outside, body: Callable[[], None]) -> None:
    """Run the block of a `with`, then what its contexts are left to do: the last first, and each may keep what is raised to itself."""
    ended: Stop | None = None
    try:
        try:
            body()
        except Suspend as waiting:
            waiting.tries += m.tries - outside.tries
            waiting.rest.append(partial(in_contexts, m, exits, outside))
            raise
        except Stop as stop:
            ended = stop
        m.tries = outside.tries
        while exits:
            ended = exits.pop()(m, ended)
    finally:
        outside.restore(m)
    if ended is not None:
        raise ended


def within(m: Interpreter, manager: Value, site: ast.AST, body: Callable[[Value], None]) -> None:
    """Run `body`, which is given what the context gives, in a context."""
    outside = Outside.of(m)
    value, mode, leave = enter_context(m, manager, site)
    if mode is not None:
        m.grad_enabled = mode
    in_contexts(m, [leave] if leave is not None else [], outside, partial(body, value))

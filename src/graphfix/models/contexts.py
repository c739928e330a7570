"""`contextlib`: what makes context managers, and stacks of them: https://docs.python.org/3/library/contextlib.html."""

from __future__ import annotations

import ast
from functools import partial

from graphfix.interpreter.contexts import Outside, enter_context, exit_of, leave_all
from graphfix.interpreter.interpreter import Interpreter, Stop
from graphfix.interpreter.values import NONE, Arguments, Exit, ExitStack, Function, Keywords, Value
from graphfix.models.registry import models

ENTERS = frozenset(("enter_context", "enter_async_context"))
CALLS_BACK = frozenset(("callback", "push_async_callback"))
TAKES = frozenset(("push", "push_async_exit"))
LEAVES = frozenset(("close", "aclose"))


@models("contextlib.contextmanager", "contextlib.asynccontextmanager")
def context_manager(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """`contextmanager(generator_function)`."""
    given = arguments[0] if arguments else None
    if not isinstance(given, Function):
        return None
    made = Function(given.definition, given.env)
    made.defaults, made.owner = given.defaults, given.owner
    made.wrappers = [*given.wrappers, "contextmanager"]
    return made


@models("contextlib.ExitStack", "contextlib.AsyncExitStack")
def exit_stack(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    return ExitStack()


def exit_stack_method(
    m: Interpreter, receiver: Value, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST
) -> Value | None:
    """What a method of an `ExitStack` does."""
    if not isinstance(receiver, ExitStack):
        return None
    if name in ENTERS and arguments:
        outside = Outside.of(m)
        value, mode, leave = enter_context(m, arguments[0], site)
        if mode is not None:
            m.grad_enabled = mode
            receiver.exits.append(partial(put_back, outside))
        receiver.exits += [leave] if leave is not None else []
        return value
    if name in CALLS_BACK and arguments:
        receiver.exits.append(called_back(*arguments, keywords=keywords, site=site))
        return arguments[0]
    leave = exit_of(arguments[0], site) if name in TAKES and arguments else None
    if leave is not None:
        receiver.exits.append(leave)
        return arguments[0]
    if name == "pop_all":
        other = ExitStack()
        other.exits, receiver.exits = receiver.exits, other.exits
        return other
    if name in LEAVES:
        leave_all(receiver, m, None)
        return NONE
    return None


def put_back(outside: Outside, m: Interpreter, ended: Stop | None) -> Stop | None:
    m.grad_enabled = outside.grad_enabled
    return ended


def called_back(function: Value, *arguments: Value, keywords: Keywords, site: ast.AST) -> Exit:
    """A function that is called where the stack ends."""

    def leave(m: Interpreter, ended: Stop | None) -> Stop | None:
        m.call(function, list(arguments), keywords, site)
        return ended

    return leave

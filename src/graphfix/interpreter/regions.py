"""`try` and `with`: what runs around a block."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial

from graphfix.interpreter.contexts import Outside, enter_context, in_contexts
from graphfix.interpreter.interpreter import Interpreter, Raise, Suspend
from graphfix.interpreter.places import assign
from graphfix.interpreter.recording import StoreKind
from graphfix.interpreter.values import Exit, NonTensor


def run_try(m: Interpreter, s: ast.Try) -> None:
    run_handled(m, s, lambda: run_guarded(m, s, lambda: m.execute(s.body)))


def run_handled(m: Interpreter, s: ast.Try, inner: Callable[[], None]) -> None:
    """Run the body and the handlers of a `try`, then its `finally`."""
    is_over = True
    try:
        inner()
    except Suspend as waiting:
        is_over = False
        waiting.rest.append(partial(run_handled, m, s))
        raise
    finally:
        if is_over:
            m.execute(s.finalbody)


def run_guarded(m: Interpreter, s: ast.Try, inner: Callable[[], None]) -> None:
    """Run the body of a `try`, and a handler of it or what its `else` holds."""
    try:
        m.tries += 1
        try:
            inner()
        except Suspend as waiting:
            waiting.tries += bool(s.handlers)
            waiting.rest.append(partial(run_guarded, m, s))
            raise
        finally:
            m.tries -= 1
    except Raise:
        if not s.handlers:
            raise
        run_handler(m, s.handlers[0])
    else:
        if s.handlers and m.ask(s, 0):
            run_handler(m, s.handlers[0])
        else:
            m.execute(s.orelse)


def run_handler(m: Interpreter, handler: ast.ExceptHandler) -> None:
    if handler.name:
        m.frame.env.variables[handler.name] = NonTensor(("exception", handler, m.now()))
    m.execute(handler.body)


def run_with(m: Interpreter, s: ast.With | ast.AsyncWith) -> None:
    exits: list[Exit] = []

    def run() -> None:
        for item in s.items:
            entered, mode, leave = enter_context(m, m.evaluate(item.context_expr), item.context_expr)
            exits.extend([leave] if leave is not None else [])
            if mode is not None:
                m.grad_enabled = mode
            if mode is False:
                m.recording.switches.add(item.context_expr)
            if item.optional_vars is not None:
                assign(m, item.optional_vars, entered, item.context_expr, StoreKind.ENTERED)
        m.execute(s.body)

    in_contexts(m, exits, Outside.of(m), run)

"""What decorators make of a function."""

from __future__ import annotations

import ast

from graphfix.interpreter.calls import NOT_FOLLOWED, call, with_context, with_mode
from graphfix.interpreter.definitions import switches_recording
from graphfix.interpreter.interpreter import Interpreter, OutOfSteps
from graphfix.interpreter.values import KEPT, BoundMethod, External, Function, GradMode, Instance, Manager, Partial, Value

# Statements and calls of one that cannot switch recording off or on: it wraps a function, or puts it into a registry. One that takes more
# does something else (such as to write its documentation), and may do so for every function of a library.
MOST_STEPS = 200
COMPILE = "torch.compile"


def decorate(m: Interpreter, function: Function, decorators: list[ast.expr]) -> Value:
    """The value that a decorated function's name is bound to."""
    value: Value = function
    for decorator in reversed(decorators):
        applied = m.evaluate(decorator)
        if isinstance(applied, External):
            note(function, applied.name.rsplit(".", 1)[-1])
            if applied.name == COMPILE:
                call(m, applied, [function], {}, decorator)
        elif isinstance(applied, Partial) and isinstance(applied.function, External) and applied.function.name == COMPILE:
            call(m, applied, [function], {}, decorator)
        elif isinstance(applied, GradMode):
            with_mode(applied, [function])
        elif isinstance(applied, Manager) or is_entered(applied):
            with_context(applied, [function])
        elif isinstance(applied, Function) and isinstance(value, Function):
            value = result_of(m, applied, value, decorator)
        elif isinstance(applied, BoundMethod) and applied.name == "setter":
            return m.frame.env.variables.get(function.definition.name, function)  # type: ignore[union-attr]
    return value if isinstance(value, (Function, Partial, Instance, BoundMethod)) else function


def is_entered(decorator: Value) -> bool:
    """Whether an object is entered at each call of what it decorates."""
    return isinstance(decorator, Instance) and any(name.endswith("ContextDecorator") for name in decorator.cls.external_bases())


def note(function: Function, word: str) -> None:
    """Note what a decorator of a library, by its name, does to calls of the function."""
    if word in ("property", "cached_property"):
        function.wrappers.append("property")
    if word in ("cached_property", "lru_cache", "cache"):
        function.wrappers.append(KEPT)
    if word in ("staticmethod", "classmethod", "contextmanager", "asynccontextmanager"):
        function.wrappers.append("contextmanager" if "context" in word else word)
    elif word in ("no_grad", "inference_mode"):
        function.wrappers.append("no_grad")
    elif word == "enable_grad":
        function.wrappers.append("enable_grad")


def result_of(m: Interpreter, decorator: Function, function: Function, site: ast.expr) -> Value:
    """What a decorator of the project makes of the function.

    Where it takes too many steps, or did so before, that is the function, and what it gives gets out of sight.
    """
    if decorator.definition in m.laborious:
        return not_followed(function)
    decorates, in_passing, most = m.decorates, m.in_passing, m.most
    context, left = m.context, list(m.recording.left)
    switches = switches_recording(decorator.env.document.tree)
    m.decorates, m.in_passing = True, in_passing or not switches
    m.most = most if switches else min(most, m.steps + MOST_STEPS)
    try:
        return call(m, decorator, [function], {}, site)
    except OutOfSteps:
        if m.steps > most:
            raise
        m.context, m.recording.left = context, left
        m.laborious.add(decorator.definition)
        return not_followed(function)
    finally:
        m.decorates, m.in_passing, m.most = decorates, in_passing, most


def not_followed(function: Function) -> Function:
    function.wrappers.append(NOT_FOLLOWED)
    return function

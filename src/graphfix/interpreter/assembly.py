"""The interpreter put together: the one place that knows all of its parts."""

from __future__ import annotations

from collections.abc import Callable

from graphfix.interpreter.attributes import get_attribute
from graphfix.interpreter.calls import call, call_method
from graphfix.interpreter.expressions import evaluate
from graphfix.interpreter.frames import Env
from graphfix.interpreter.interpreter import Handlers, Interpreter
from graphfix.interpreter.statements import execute
from graphfix.interpreter.values import Value
from graphfix.models import autograd_calls, python, reflection, special  # noqa: F401 - they register their models

HANDLERS = Handlers(evaluate, execute, call, call_method, get_attribute)


def assembled(policy: Callable[..., bool], importer: Callable[[Interpreter, str, Env], Value | None]) -> Interpreter:
    """An interpreter for one run, with the handlers of Python and the models of its libraries."""
    return Interpreter(policy, importer, HANDLERS)

"""The interpreter put together: the one place that knows all of its parts, and all models."""

from __future__ import annotations

from collections.abc import Callable

from graphfix.interpreter.attributes import get_attribute
from graphfix.interpreter.calls import call, call_method
from graphfix.interpreter.contexts import within
from graphfix.interpreter.expressions import evaluate
from graphfix.interpreter.frames import Env
from graphfix.interpreter.hooks import hook_method
from graphfix.interpreter.interpreter import Handlers, Interpreter, Models
from graphfix.interpreter.statements import execute
from graphfix.interpreter.values import Value
from graphfix.models import checkpoints, compiling, copies, launchers, loaders, reflection, special, spiking, transforms  # noqa: F401 - they register their models
from graphfix.models.arithmetic import arithmetic, in_place
from graphfix.models.autograd_calls import launched
from graphfix.models.containers import call_container_method
from graphfix.models.contexts import exit_stack_method
from graphfix.models.functions import call_torch
from graphfix.models.modules import call_layer, make_layer
from graphfix.models.python import call_library
from graphfix.models.records import named_tuple_method
from graphfix.models.tensor_attributes import library_attribute
from graphfix.models.tensor_methods import call_torch_method
from graphfix.models.threads import thread_method

HANDLERS = Handlers(evaluate, execute, call, call_method, get_attribute, within)
MODELS = Models(
    arithmetic,
    in_place,
    library_attribute,
    call_torch,
    call_library,
    make_layer,
    call_layer,
    launched,
    (thread_method, exit_stack_method, hook_method, named_tuple_method, call_torch_method, call_container_method),
)


def assembled(policy: Callable[..., bool], importer: Callable[[Interpreter, str, Env], Value | None]) -> Interpreter:
    """An interpreter for one run, with the handlers of Python and the models of its libraries."""
    return Interpreter(policy, importer, HANDLERS, MODELS)

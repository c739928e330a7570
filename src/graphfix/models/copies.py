"""What copies of an object, and weak references to it, are."""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import NONE, External, Instance, NonTensor, Partial, TorchModule, Value, nodes_in
from graphfix.models.modules import copy_module
from graphfix.models.registry import models


@models(
    "copy.deepcopy",
)
def copied_deeply(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """torch refuses to copy tensors that are no leaves: what a copy holds has no graph.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.html: only tensors created explicitly by the user support it.
    """
    value = arguments[0] if arguments else NONE
    if nodes_in(value, attributes=False):
        return NonTensor(("copy", site, m.now()))
    return copied(m, arguments, keywords, site)


@models("weakref.ref")
def weak_reference(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """What gives its object when it is called: as long as that lives, which is not simulated."""
    return Partial(External("weakref.proxy"), arguments[:1], {}) if arguments else None


@models("weakref.proxy")
def weak_proxy(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    return arguments[0] if arguments else None


@models(
    "copy.copy",
)
def copied(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    value = arguments[0] if arguments else NONE
    if isinstance(value, (TorchModule, Instance)):
        return copy_module(value, {})
    return value.copied()

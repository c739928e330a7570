"""Functions of functions: `torch.func` and `torch.autograd.functional`. What they are given is called as often as the program calls them.

https://docs.pytorch.org/docs/stable/func.api.html, https://docs.pytorch.org/docs/stable/autograd.html#functional-higher-level-api
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    External,
    Keywords,
    Mapping,
    Partial,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from graphfix.models.registry import models

APPLIED = "functorch.applied"
# the first of a pair is what the function itself returns
PAIRS = ("vjp", "jvp", "hvp", "vhp")


def derivative(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST, pair: bool) -> Value:
    """A derivative of `func` at `inputs`: with recording on inside; outside it has a graph only with `create_graph`."""
    function = arguments[0] if arguments else keywords.get("func", NONE)
    inputs = arguments[1] if len(arguments) > 1 else keywords.get("inputs", NONE)
    given = list(inputs.items) if isinstance(inputs, Sequence) else [inputs]
    before, m.grad_enabled = m.grad_enabled, True
    try:
        inner = m.call(function, given, {}, site)
    finally:
        m.grad_enabled = before
    creates = keywords.get("create_graph", arguments[2] if len(arguments) > 2 and not pair else NONE)

    def result() -> Value:
        if creates.is_off:
            return Tensor()
        if len(given) == 1:
            return Tensor(m.record(site, [inner, *given], True))
        return Unknown(("derivative", site, m.now()), m.record(site, [inner, *given], True))

    return Sequence("tuple", [result(), result()]) if pair else result()


@models("torch.autograd.functional.jacobian", "torch.autograd.functional.hessian")
def matrix(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return derivative(m, arguments, keywords, site, False)


@models(*(f"torch.autograd.functional.{name}" for name in PAIRS))
def product(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    return derivative(m, arguments, keywords, site, True)


@models(
    *(f"torch.func.{name}" for name in ("grad", "grad_and_value", "vmap", "jacrev", "jacfwd", "hessian")),
    *(f"functorch.{name}" for name in ("grad", "grad_and_value", "vmap", "jacrev", "jacfwd", "hessian")),
    "torch.vmap",
)
def transformed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """A new function; nothing is computed before it is called."""
    return Partial(External(APPLIED), arguments[:1] or [keywords.get("func", NONE)], {})


@models(APPLIED)
def applied(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """The transformed function calls the one that it was made of; its result is part of the graph around, as that of an operation."""
    function, *given = arguments
    inner = m.call(function, given, keywords, site)
    return Unknown(("transformed", site, m.now()), m.record(site, [inner, *given, *keywords.values()], True))


@models("torch.func.functional_call", "torch.nn.utils.stateless.functional_call")
def functional_call(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """A module is called with other parameters in the place of its own."""
    if len(arguments) < 2:
        return None
    module, parameters, *rest = arguments
    inputs = rest[0] if rest else keywords.get("args", NONE)
    given = list(inputs.items) if isinstance(inputs, Sequence) else [] if inputs.is_none else [inputs]
    inner = m.call(module, given, {}, site)
    replaced = list(parameters.items) if isinstance(parameters, Sequence) else [parameters]
    held = [item for each in replaced for item in (each.items.values() if isinstance(each, Mapping) else [each])]
    node = m.record(site, [*given, *held], True)  # its own parameters are no part of it
    return Tensor(node) if isinstance(inner, Tensor) else Unknown(("functional", site, m.now()), node)

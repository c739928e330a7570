"""What calls into torch do that have no model of their own: by the recorded table, or by the part of torch that they belong to."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.autograd.graph import Leaf
from graphfix.effects.table import facts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Read, ReadKind
from graphfix.interpreter.values import (
    NONE,
    Arguments,
    Constant,
    Keywords,
    Mapping,
    Optimizer,
    Parameters,
    ParametersForm,
    Sequence,
    Tensor,
    Unknown,
    Value,
    given,
)
from graphfix.models.modules import (
    make_layer,
)
from graphfix.models.operations import (
    operation,
)
from graphfix.models.optimizers import owners_of
from graphfix.models.registered import note_optimizer
from graphfix.models.registry import model_of
from graphfix.models.tensor_methods import call_torch_method


def call_torch(m: Interpreter, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """Call `torch...` by its qualified name."""
    model = model_of(name)
    made = model(m, arguments, keywords, site) if model is not None else None
    if made is not None:
        return made
    if name.startswith("torch.Tensor.") and arguments:
        made = call_torch_method(m, arguments[0], name.rsplit(".", 1)[-1], arguments[1:], keywords, site)
        return made if made is not None else m.unknown(site, arguments)
    last = name.rsplit(".", 1)[-1]
    if name.startswith(("torch.autograd.", "torch.func.")):
        m.recording.asks.append(m.trace())
    if name.startswith("torch.optim."):
        if "lr_scheduler" in name or "swa" in name:
            return Unknown(("scheduler", site, m.now()))
        return make_optimizer(m, last, arguments[:1] or [keywords.get("params", NONE)], keywords, site)
    if name.startswith("torch.nn.") and last[:1].isupper():
        return make_layer(m, name, arguments, keywords, site)
    if name.startswith(("torch.nn.init.", "torch.nn.utils.clip")):
        if "clip" in name:
            return Tensor()
        m.recording.written.extend((value, False) for value in arguments[:1])
        return arguments[0] if arguments else NONE
    if name.startswith("torch.distributions.") and last[:1].isupper():
        known = facts(f"torch.distributions.{last}")
        saves = known.saves if known is not None else True
        return Unknown(("distribution", site, m.now()), m.record(site, given(arguments, keywords), saves), is_object=True)
    if name.startswith(
        ("torch.utils.data.", "torch.multiprocessing.", "torch.cuda.", "torch.backends.", "torch.distributed.", "torch.hub.")
    ):
        for value in arguments:
            if name.startswith("torch.distributed."):
                m.escape(value, site, "argument")
        return Unknown((last, site, m.now()))
    known = facts(name)
    values = given(arguments, keywords)
    if known is not None and known.differentiable and known.result == "tensor" and not known.inplace:
        values = [as_tensor(m, value, site) for value in values]
    return operation(m, known, values, keywords, site, name)


def as_tensor(m: Interpreter, value: Value, site: ast.AST) -> Value:
    """One of the parameters that a loop goes through, as the tensor that it is."""
    return m.parameter(value, site) if isinstance(value, Parameters) and value.form is ParametersForm.ONE else value


def given_to_optimizer(values: Iterable[Value], depth: int = 4) -> Iterator[Value]:
    """The tensors among the parameters: alone, in lists, and in the groups that are given as dicts."""
    for value in values:
        if isinstance(value, Sequence) and depth:
            yield from given_to_optimizer(value.items, depth - 1)
        elif isinstance(value, Mapping) and depth:
            yield from given_to_optimizer([value.items[key] for key in ("params",) if key in value.items], depth - 1)
        else:
            yield value


def make_optimizer(m: Interpreter, kind: str, parameters: Arguments, keywords: Keywords, site: ast.AST) -> Optimizer:
    """An optimizer; torch refuses a tensor that is no leaf, but where that keeps its gradient, or steps are recorded.

    `add_param_group` of https://github.com/pytorch/pytorch/blob/main/torch/optim/optimizer.py.
    """
    is_recorded = keywords.get("differentiable", Constant(False)).truth is not False
    for value in given_to_optimizer(parameters) if not is_recorded else ():
        if isinstance(value, Tensor) and value.node is not None and value.node not in m.recording.retained:
            m.recording.misuses.append(Read(site, m.trace(), value, ReadKind.OPTIMIZED))
    note_optimizer(m, parameters, site)
    m.recording.optimizers.append((site, tuple(parameters)))
    for owner in owners_of(parameters):
        m.recording.optimized.setdefault(owner, Leaf("parameters", True, site, module=True))
    return Optimizer(kind, parameters)

"""`torch.utils.checkpoint`: code whose graph is made in the backward pass, when it runs again."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from graphfix.autograd.graph import Leaf
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import NONE, Arguments, Constant, Keywords, NonTensor, Sequence, Tensor, Value
from graphfix.models.registry import models


@models("torch.utils.checkpoint.checkpoint")
def checkpointed(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    if not arguments:
        return NONE
    if m.grad_enabled and is_reentrant(keywords) and not any(map(may_have_graph, arguments[1:])):
        return without_graph(m, arguments, site)
    inner = m.call(arguments[0], arguments[1:], {}, site)
    return Tensor(m.record(site, [inner], True)) if isinstance(inner, Tensor) else inner


def is_reentrant(keywords: Mapping[str, Value]) -> bool:
    """Whether a checkpoint is the one that runs its code under `no_grad`, as it does where nothing says which of the two it is.

    https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    told = keywords.get("use_reentrant", NONE)
    return isinstance(told, Constant) and (told.value is None or told.value is True)


def may_have_graph(value: Value) -> bool:
    """Whether a checkpoint may find that an input needs a gradient: it looks at tensors that it is given, and not into containers."""
    if isinstance(value, Tensor):
        return value.node is not None or value.leaf is not None and value.leaf.requires_grad
    return not isinstance(value, (Constant, NonTensor, Sequence))


def without_graph(m: Interpreter, arguments: Arguments, site: ast.AST) -> Value:
    """What a reentrant checkpoint gives of inputs that need no gradient: its result needs none, whatever parameters its code has."""
    before = set(m.recording.unrecorded)
    m.grad_enabled = False
    try:
        made = m.call(arguments[0], arguments[1:], {}, site)
    finally:
        m.grad_enabled = True
    read = tuple(leaf for leaf in m.recording.unrecorded if leaf not in before)
    cut = Severed(site, How.CHECKPOINTED, leaf=frozen_above(arguments[1:]), leaves=read, trace=m.trace())
    m.recording.unrecorded.update(dict.fromkeys(read, cut))
    return severed_by(made, cut)


def frozen_above(inputs: Arguments) -> Leaf | None:
    """The parameter of which the only tensor among the inputs is made, and that was told to need no gradient."""
    tensors = [value for value in inputs if isinstance(value, Tensor)]
    lost = tensors[0].severed if len(tensors) == 1 else None
    return lost.leaf if lost is not None else None


def severed_by(value: Value, cut: Severed) -> Value:
    """What code has computed without a graph, by tensors of its own."""
    if isinstance(value, Sequence):
        return Sequence(value.kind, [severed_by(item, cut) for item in value.items])
    if not isinstance(value, Tensor) or value.node is not None or value.leaf is not None:
        return value
    made = Tensor(single=value.single, shape=value.shape)
    made.severed = cut
    return made

"""Which device a tensor is on, and moves to another: to the one that it is on already a tensor stays the very same."""

from __future__ import annotations

import ast

from graphfix.autograd.graph import Storage
from graphfix.effects.table import facts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import NONE, Arguments, Constant, Keywords, Tensor, Value
from graphfix.models.operations import operation

MOVES = frozenset(("to", "cuda", "cpu"))
# what decides nothing about the device
ASIDE = frozenset(("non_blocking", "memory_format"))


def moved(m: Interpreter, tensor: Tensor, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """What `tensor.cuda()` and its like give: the tensor itself where it was moved there before.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """
    device = device_meant(name, arguments, keywords)
    if device is not None and device == device_of(tensor):
        return tensor
    # the table cannot be recorded for a graphics card on every machine
    made = operation(m, facts("torch.Tensor.to" if name == "to" else "torch.Tensor.cpu"), [tensor], {}, site, name)
    if isinstance(made, Tensor):
        made.storage.device = device
    return made


def device_meant(name: str, arguments: Arguments, keywords: Keywords) -> object:
    """What names the device of a move: equal names mean one device. None where it may make a copy anyway."""
    given = [*arguments, *(value for word, value in keywords.items() if word not in ASIDE)]
    first = given[0] if given else NONE
    if len(given) > 1 or isinstance(first, Tensor):
        return None
    if name == "to":
        return None if first.is_none else first.identity
    if first.is_none or name == "cpu":
        return name
    return f"cuda:{first.value}" if isinstance(first, Constant) and isinstance(first.value, int) else first.identity


def device_of(value: Value) -> object:
    """What names the device that a tensor is on, where that is known."""
    storage: Storage | None = value.storage if isinstance(value, Tensor) else None
    while storage is not None and storage.device is None:
        storage = storage.near
    return storage.device if storage is not None else None

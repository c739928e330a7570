"""Looks at tensors without a call of what the program lays over torch: modes, and subclasses with functions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .looking import items

PLAIN = torch._C.DisableTorchFunction  # no `__torch_function__` of a mode or a subclass is called
UNDISPATCHED = torch._C._DisableTorchDispatch  # no `__torch_dispatch__` of a mode is
_Tensor = torch.Tensor


def is_tensor(value: Any) -> bool:
    """Whether the type of `value` is a tensor's, whatever the value itself says of its class."""
    return issubclass(type(value), _Tensor)


def is_computed_by_torch(tensor: torch.Tensor) -> bool:
    """Whether no `__torch_dispatch__` of the program computes what is asked of the tensor."""
    return type(tensor).__torch_dispatch__ is _Tensor.__torch_dispatch__


def tensors_in(value: Any) -> list[torch.Tensor]:
    """A tensor, or those in a sequence of values."""
    if issubclass(type(value), _Tensor):
        return [value]
    return [item for item in items(value) or () if issubclass(type(item), _Tensor)]


@contextmanager
def unseen() -> Iterator[None]:
    """No mode of the program is told of the operations of torch in here."""
    with PLAIN(), UNDISPATCHED():
        yield

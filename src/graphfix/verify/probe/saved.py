"""What a node saved for its backward, read from the node itself.

Hooks for saved tensors would be simpler, but they switch autograd's check for in-place writes off, and with it the error
that a script may be run for. Reading a node at its birth leaves that check alone, in the same run.
"""

from __future__ import annotations

from typing import Any

import torch

from .looking import items
from .tensors import tensors_in

RAW = {"saved_tensors": "_raw_saved_tensors"}
_names: dict[type, tuple[str, ...]] = {}


def saved_by(node: Any) -> tuple[tuple[int, int, int], ...]:
    """Storage, bytes and version of each saved tensor; no bytes where it lies in a parameter, which lives anyway."""
    found: list[tuple[int, int, int]] = []
    for name in saved_names(type(node)):
        try:
            for tensor in () if has_hooks(node, name) else tensors_in(getattr(node, name)):
                if tensor.layout is torch.strided:
                    storage = tensor.untyped_storage()
                    lives = tensor.is_leaf and tensor.requires_grad
                    found.append((storage.data_ptr(), 0 if lives else storage.nbytes(), tensor._version))
        except RuntimeError:  # freed already, or a kind of tensor that torch cannot show
            continue
    return tuple(found)


def saved_names(kind: type) -> tuple[str, ...]:
    """The attributes under which a kind of node shows what it has saved."""
    names = _names.get(kind)
    if names is None:
        own = tuple(name for name in dir(kind) if name.startswith("_saved_"))
        names = _names[kind] = own or (("saved_tensors",) if hasattr(kind, "saved_tensors") else ())
    return names


def has_hooks(node: Any, name: str) -> bool:
    """Whether reading what is saved would run hooks of the program, such as those of a checkpoint, which compute it anew.

    Raises RuntimeError where it is freed.
    """
    raw = getattr(node, RAW.get(name, f"_raw{name}"), None)
    return any(getattr(each, "unpack_hook", None) is not None for each in items(raw) or (raw,))

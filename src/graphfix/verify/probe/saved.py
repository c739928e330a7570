"""What a node saved for its backward, read from the node itself.

Hooks for saved tensors would be simpler, but they switch autograd's check for in-place writes off, and with it the error
that a script may be run for. Reading a node at its birth leaves that check alone, in the same run.
"""

from __future__ import annotations

from typing import Any

import torch

_names: dict[type, tuple[str, ...]] = {}


def saved_by(node: Any) -> tuple[tuple[int, int, int], ...]:
    """Storage, bytes and version of each saved tensor; no bytes where it lies in a parameter, which lives anyway."""
    kind = type(node)
    names = _names.get(kind)
    if names is None:
        own = tuple(name for name in dir(kind) if name.startswith("_saved_"))
        names = _names[kind] = own or (("saved_tensors",) if hasattr(kind, "saved_tensors") else ())
    found: list[tuple[int, int, int]] = []
    for name in names:
        try:
            value = getattr(node, name)
            for tensor in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided:
                    storage = tensor.untyped_storage()
                    lives = tensor.is_leaf and tensor.requires_grad
                    found.append((storage.data_ptr(), 0 if lives else storage.nbytes(), tensor._version))
        except RuntimeError:  # freed already, or a kind of tensor that torch cannot show
            continue
    return tuple(found)

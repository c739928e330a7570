"""The numbers of a run that another run can be compared with: losses, numbers that were read, parameters at the end."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from .births import KEY, Birth
from .tensors import is_computed_by_torch, is_tensor, unseen

KEPT = 20_000  # numbers of a kind: more says nothing new
HELD = 512  # parameters that are kept for the end, also where their owner is gone by then
SAMPLE = 256  # values of a parameter
WAITING = 256  # losses on an accelerator that wait to be read together


class Parameter:
    """A parameter whose values can be read at the end, also where it is gone by then: its memory is held, not the object."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._object = weakref.ref(tensor)
        self._shape, self._layout, self._dtype = tensor.shape, (tensor.storage_offset(), tensor.stride()), tensor.dtype
        self._memory = tensor.untyped_storage()

    @property
    def alive(self) -> torch.Tensor | None:
        """The parameter itself, if it is there."""
        return self._object()

    @property
    def tensor(self) -> torch.Tensor:
        """The parameter, or another tensor in its memory."""
        if self.alive is not None:
            return self.alive
        offset, stride = self._layout
        empty = torch.empty(0, dtype=self._dtype, device=self._memory.device)
        return empty.set_(self._memory, offset, self._shape, stride)


class Results:
    """What a run computed."""

    def __init__(self) -> None:
        self.losses: list[tuple[int, float | None]] = []
        self.numbers: list[tuple[int, float]] = []
        self._waiting: list[tuple[int, torch.Tensor]] = []
        self._optimised: list[Parameter] = []
        self._params: list[Parameter] = []
        self._known: dict[int, weakref.ref[torch.Tensor]] = {}
        self._leaves: list[weakref.ref[torch.Tensor]] = []

    def number(self, walk: int, value: float) -> None:
        """A number that the script read between walks `walk - 1` and `walk`."""
        if len(self.numbers) < KEPT:
            self.numbers.append((walk, value))

    def loss_of(self, roots: Iterable[Any]) -> Any:
        """The sum of the values that a walk starts from; a tensor where reading it would wait for an accelerator."""
        values = [root.detach() for root in roots if can_be_read(root) and not root.is_complex()]
        if not values:
            return None
        total = values[0] if len(values) == 1 else torch.stack([value.sum().cpu() for value in values])
        if total.numel() != 1:
            total = total.sum()
        # a value on an accelerator may be written in place before it is read
        return total.item() if total.device.type == "cpu" else total.clone()

    def loss(self, walk: int, value: Any) -> None:
        if len(self.losses) + len(self._waiting) >= KEPT:
            return
        if isinstance(value, torch.Tensor):
            self._waiting.append((walk, value))
            if len(self._waiting) >= WAITING:
                self.read_waiting()
        else:
            self.losses.append((walk, value))

    def read_waiting(self) -> None:
        """Read the losses that wait on the accelerator."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            with unseen():
                values = torch.stack([value.to(waiting[0][1].device) for _, value in waiting]).tolist()
            self.losses += [(walk, value) for (walk, _), value in zip(waiting, values)]

    def optimised(self, params: Iterable[torch.Tensor]) -> None:
        """What an optimizer was given, in order: a training function's own are gone at the end of the run."""
        with unseen():
            for param in params:
                if len(self._optimised) < HELD and can_be_read(param) and self._is_new(param):
                    self._optimised.append(Parameter(param))

    @property
    def are_trained(self) -> bool:
        """Whether an optimizer was given anything."""
        return bool(self._optimised)

    def trained(self, leaves: Iterable[torch.Tensor]) -> None:
        """What a reference trains although no optimizer was given it."""
        self._optimised += [Parameter(leaf) for leaf in leaves]

    def leaves(self, births: Iterable[Birth]) -> None:
        """Remember the leaves that a walk accumulated into."""
        with unseen():
            for birth in births:
                for node in birth.leaves:
                    if KEY not in node.metadata:
                        node.metadata[KEY] = True
                        self._leaf(node.variable)

    def _leaf(self, tensor: torch.Tensor) -> None:
        """A leaf's memory is not held, unless it is a parameter's: it may be one batch of many."""
        if can_be_read(tensor) and self._is_new(tensor):
            if isinstance(tensor, torch.nn.Parameter) and len(self._params) < HELD:
                self._params.append(Parameter(tensor))
                return
            if len(self._leaves) >= HELD:
                self._leaves = [ref for ref in self._leaves if ref() is not None]
            if len(self._leaves) < HELD:
                self._leaves.append(weakref.ref(tensor))

    def _is_new(self, tensor: torch.Tensor) -> bool:
        known = self._known.get(id(tensor))
        if known is not None and known() is tensor:
            return False
        self._known[id(tensor)] = weakref.ref(tensor)
        return True

    @property
    def walked(self) -> list[Parameter]:
        """The parameters that walks accumulated into before an optimizer had them."""
        return self._params

    def gradients(self) -> dict[int, float]:
        """The norm of the gradient that each optimised parameter has now; another device's work is waited for."""
        with unseen(), torch.no_grad():
            found = [(at, param.tensor.grad) for at, param in enumerate(self._optimised)]
            return {at: grad.float().norm().item() for at, grad in found if grad is not None and can_be_read(grad)}

    def parameters(self) -> list[dict[str, Any]]:
        """Shape, norm and evenly spaced values of each; of other leaves only where no optimizer was given any."""
        with unseen(), torch.no_grad():
            tensors = [param.tensor for param in self._optimised or self._params]
            if not self._optimised:
                tensors += [tensor for ref in self._leaves if (tensor := ref()) is not None]
            return [_told(tensor) for tensor in tensors if not tensor.is_complex()]


def can_be_read(value: Any) -> bool:
    """Whether a tensor has values in memory that torch itself reads: no `__torch_dispatch__` of the program does."""
    return is_tensor(value) and is_computed_by_torch(value) and value.layout is torch.strided and not value.is_meta


def _told(tensor: torch.Tensor) -> dict[str, Any]:
    # mps has no double
    flat = tensor.detach().reshape(-1).float()
    step = max(1, -(-flat.numel() // SAMPLE))
    return {
        "shape": list(tensor.shape),
        "norm": flat.norm().item() if flat.numel() else 0.0,
        "values": flat[::step].tolist(),
    }

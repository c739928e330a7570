"""Find out what one call computes by other formulas where gradients are recorded, by comparing the numbers bit by bit."""

from __future__ import annotations

from typing import Any

import torch
from torch_probe import Trial, fresh, live, tensors_of


def has_other_formula(trial: Trial) -> bool:
    """Whether gradients have other bits where they are recorded themselves (`create_graph=True`), of small inputs or of larger ones."""
    return any(_differs(trial, times) for times in (1, 5))


def _differs(trial: Trial, times: int) -> bool:
    try:
        plain, recorded, again = (gradients(trial, times, create) for create in (False, True, True))
    except Exception:  # it does not take larger inputs, or cannot be walked
        return False
    return _equal(recorded, again) and not _equal(plain, recorded)


def gradients(trial: Trial, times: int, create_graph: bool) -> list[torch.Tensor]:
    """The gradients of a call on inputs that are `times` as long."""
    call = fresh(trial)
    args = [_larger(arg, times) for arg in call.args] if times > 1 else list(call.args)
    torch.manual_seed(0)
    outputs = live(call.function(*args, **call.kwargs))
    inputs = [tensor for tensor in tensors_of(args) if tensor.requires_grad] + list(call.weights)
    torch.manual_seed(1)
    given = [torch.randn_like(output.detach()) for output in outputs]
    found = torch.autograd.grad(outputs, inputs, given, create_graph=create_graph, allow_unused=True)
    return [gradient.detach().to_dense() for gradient in found if gradient is not None]


def _larger(value: Any, times: int) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_larger(item, times) for item in value)
    if not isinstance(value, torch.Tensor) or not value.dim():
        return value
    if value.dim() > 2:
        raise ValueError("that would be too large")
    larger = value.detach().repeat(*[times] * value.dim())
    if larger.is_floating_point():
        larger = larger + torch.linspace(0, 0.05, larger.numel(), dtype=larger.dtype).sin().reshape(larger.shape)
    return larger.requires_grad_().clone() if value.requires_grad else larger


def _equal(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) for a, b in zip(first, second, strict=True))

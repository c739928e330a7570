"""Leaves that a line told whether they require grad: where that was, for a write to one, or a gradient of one, that torch refuses."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch

from ..births import birth_of
from ..looking import name_of
from ..tensors import is_tensor, tensors_in
from .carriers import held_in
from .failures import named, place
from .lives import Life, Lives

KEPT = 20_000
SWITCH = torch.Tensor.requires_grad
REFUSED = "leaf Variable that requires grad is being used in an in-place operation"


class Leaves:
    """The line at which each leaf was last told whether it requires grad, and the last write to a leaf that torch refused."""

    def __init__(self, tally: Lives) -> None:
        self._tally = tally
        self._made: dict[int, tuple[weakref.ref[torch.Tensor], dict[str, Any]]] = {}
        self._refused: dict[str, Any] = {}

    def note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """`func` has given `result`: a leaf, where it was asked for one, or told its tensor to require grad, or not to."""
        name = name_of(func)
        if name == "__set__" and func.__self__ is SWITCH:
            told, name = args[0], "requires_grad"
        elif name == "requires_grad_" or kwargs and kwargs.get("requires_grad") is True:
            told = result
        else:
            return
        if len(self._made) > KEPT:
            self._made = {key: kept for key, kept in self._made.items() if kept[0]() is not None}
        for tensor in tensors_in(told):
            if tensor.is_leaf and len(self._made) <= KEPT:
                made = place(self._tally.here(), self._tally.step, name)  # type: ignore[arg-type]
                self._made[id(tensor)] = (weakref.ref(tensor), made)

    def refuse(self, tensor: Any, error: RuntimeError, frames: Iterable[Any]) -> None:
        """Keep what is known of the tensor that torch refused to write to, in case that the program ends with this error."""
        if not is_tensor(tensor) or REFUSED not in str(error):
            return
        base = tensor if tensor.is_leaf else tensor._base
        told: dict[str, Any] = {"message": str(error), "shape": list(tensor.shape), "made": self._told_at(base)}
        life = birth_of(tensor)
        if base is not tensor and isinstance(life, Life):
            told["crossing"] = place(life.site, life.step, life.kind)
        self._refused = told | _name(base, frames)

    def frozen(self, inputs: Iterable[Any], frames: Iterable[Any]) -> dict[str, Any]:
        """The first of the `inputs` of a refused backward pass that does not require grad: its name, and where it was told not to."""
        tensor = next((each for each in inputs if is_tensor(each) and not each.requires_grad), None)
        if tensor is None:
            return {}
        return {"shape": list(tensor.shape), "made": self._told_at(tensor), **_name(tensor, frames)}

    def _told_at(self, tensor: Any) -> dict[str, Any] | None:
        ref, made = self._made.get(id(tensor), (None, None))
        return made if ref is not None and ref() is tensor else None

    def of(self, message: str) -> dict[str, Any]:
        """What is known of the error that the program ended with, as torch words it; nothing where it is another one."""
        return self._refused if REFUSED in message and self._refused.get("message") == message else {}


def _name(tensor: Any, frames: Iterable[Any]) -> dict[str, Any]:
    held = held_in(frames, lambda each: each is tensor)
    return {"carrier": named(held[0])} if held else {}

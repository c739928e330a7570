"""Writes in place: which line last changed the memory that an operation had saved."""

from __future__ import annotations

import types
import weakref
from collections import OrderedDict, deque
from typing import Any

import torch

from .lives import Life, Lives, Place

KEPT = 4096  # pieces of memory
EACH = 32  # writes to one
IN_PLACE = frozenset(("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__"))


def is_write(name: str) -> bool:
    """Whether a function of torch writes to its first argument, as its name says."""
    return name in IN_PLACE or (name.endswith("_") and not name.endswith("__") and name != "requires_grad_")


def is_told_to_write(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function of torch is given `inplace=True`, by name or by place, as layers give it."""
    if type(func) is not types.FunctionType or "inplace" not in func.__code__.co_varnames[: func.__code__.co_argcount]:
        return False
    place = func.__code__.co_varnames.index("inplace")
    return (args[place] if place < len(args) else kwargs.get("inplace")) is True


class Writes:
    """The writes that a version counter has counted."""

    def __init__(self, lives: Lives) -> None:
        self.lives = lives
        self._to: OrderedDict[int, deque[tuple[int, int, Place, str]]] = OrderedDict()
        self._steps: deque[tuple[int, Place, Any]] = deque(maxlen=EACH)

    def note(self, tensor: torch.Tensor, name: str, place: Place) -> None:
        """The function `name` has written to `tensor`."""
        if tensor.layout is not torch.strided:
            return
        storage = tensor.untyped_storage().data_ptr()
        writes = self._to.pop(storage, None) or deque(maxlen=EACH)
        writes.append((self.lives.made, tensor._version, place, name or "out="))
        self._to[storage] = writes
        if len(self._to) > KEPT:
            self._to.popitem(last=False)

    def stepped(self, optimizer: Any, place: Place) -> None:
        """An optimizer has written to its parameters."""
        self._steps.append((self.lives.made, place, weakref.ref(optimizer)))

    def after(self, life: Life, expected: int | None) -> tuple[int, Place, str] | None:
        """The first write to what `life` had saved: its memory, its line, and what it is called.

        `expected`: the version that the error names.
        """
        saved = [(storage, version) for storage, version in life.versions if expected is None or version == expected]
        later: tuple[int, Place, str] | None = None
        for storage, version in saved:
            for order, after, place, name in self._to.get(storage, ()):
                if order >= life.order and after == version + 1:
                    return storage, place, name
                # a write through `.data` counts for itself: https://docs.pytorch.org/docs/stable/notes/autograd.html
                later = later or ((storage, place, name) if order >= life.order and after > version else None)
        for storage, _ in saved:
            for order, place, ref in self._steps:
                optimizer = ref()
                if order >= life.order and optimizer is not None and storage in _memory(optimizer):
                    return storage, place, f"{type(optimizer).__name__}.step"
        return later


def _memory(optimizer: Any) -> set[int]:
    return {p.untyped_storage().data_ptr() for group in optimizer.param_groups for p in group["params"]}

"""Where values lost their graph: for a backward pass that finds none to go through."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from ..looking import name_of
from ..tensors import tensors_in
from .lives import Lives, Place

KEPT = 20_000  # tensors without a graph that are alive
FROM_NUMBERS = frozenset(("tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor"))
UNRECORDED, NUMBERS, CONSTANT, CHECKPOINTED = "unrecorded", "numbers", "constant", "checkpoint"


@dataclass(frozen=True)
class Cut:
    """An operation whose result has no graph.

    `how`: nothing was recorded, or nothing within a reentrant checkpoint, whose line `place` is then; it took numbers; its result is a
    constant to autograd.
    """

    place: Place
    name: str
    how: str


class Cuts:
    """The cut that each tensor without a graph comes from, by the operations that led from one to the other."""

    def __init__(self, tally: Lives) -> None:
        self._tally = tally
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], Cut]] = {}
        self._read: dict[int, tuple[weakref.ref[torch.Tensor], Place]] = {}  # leaves that require grad, by code that records nothing

    def note(self, func: Any, given: Iterable[Any], results: list[torch.Tensor], place: Place) -> None:
        """`func` has made `results`, none of which has a graph, of what it was given."""
        inputs = [tensor for value in given for tensor in tensors_in(value)]
        name = operation(func)
        if not torch.is_grad_enabled():
            for leaf in (tensor for tensor in inputs if tensor.requires_grad and tensor.is_leaf and id(tensor) not in self._read):
                self._read[id(leaf)] = (weakref.ref(leaf), place)
        cut = next((found for tensor in inputs if (found := self.of(tensor)) is not None), None)
        if any(tensor.requires_grad for tensor in inputs):
            outer = None if torch.is_grad_enabled() else checkpoint_above(sys._getframe(1))
            how = CONSTANT if torch.is_grad_enabled() else UNRECORDED if outer is None else CHECKPOINTED
            cut = Cut(place if outer is None else self._tally.at(outer), name, how)  # type: ignore[arg-type]
        elif name in FROM_NUMBERS and not inputs:
            cut = Cut(place, name, NUMBERS)
        if cut is not None:
            for tensor in results:
                self._keep(tensor, cut)

    def of(self, tensor: Any) -> Cut | None:
        """The cut that a tensor comes from, if it is known."""
        ref, cut = self._known.get(id(tensor), (None, None))
        return cut if ref is not None and ref() is tensor else None

    def unrecorded(self, leaf: torch.Tensor) -> Place | None:
        """The first line that has read a leaf while nothing was recorded."""
        ref, place = self._read.get(id(leaf), (None, None))
        return place if ref is not None and ref() is leaf else None

    def _keep(self, tensor: torch.Tensor, cut: Cut) -> None:
        key, known = id(tensor), self._known
        if len(known) < KEPT:

            def forget(ref: weakref.ref[torch.Tensor]) -> None:
                if known.get(key, (None,))[0] is ref:
                    del known[key]

            known[key] = (weakref.ref(tensor, forget), cut)


def checkpoint_above(frame: Any) -> Any:
    """The frame that has called the reentrant checkpoint which `frame` runs in; None where it runs in none.

    Its forward pass records nothing, and its result has a graph only where one of its inputs requires grad:
    https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    module = sys.modules.get("torch.utils.checkpoint")
    if module is None:
        return None
    inside = False
    while frame is not None:
        is_its = frame.f_code.co_filename == module.__file__
        if inside and not is_its:
            return frame
        inside = inside or is_its and frame.f_code.co_name == "forward"
        frame = frame.f_back
    return None


def operation(func: Any) -> str:
    """What a function of torch is called; an attribute by its own name."""
    name = name_of(func)
    return str(func.__self__.__name__) if name == "__get__" else name.strip("_")

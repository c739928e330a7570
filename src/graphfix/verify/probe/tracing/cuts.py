"""Where values lost their graph: for a backward pass that finds none to go through, and for parameters that no gradient comes to."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..looking import name_of
from ..tensors import tensors_in
from .lives import Lives, Place

KEPT = 20_000  # tensors without a graph that are alive
ENDS = 256  # cuts whose leaves are known
LOOKS = 2  # graphs of each of them
BELOW = 20_000  # nodes of such a graph
FROM_NUMBERS = frozenset(("tensor", "as_tensor", "from_numpy", "FloatTensor", "Tensor"))
UNRECORDED, NUMBERS, CONSTANT, CHECKPOINTED, INFERENCE = "unrecorded", "numbers", "constant", "checkpoint", "inference"


@dataclass(frozen=True)
class Cut:
    """An operation whose result has no graph.

    `how`: nothing was recorded, or nothing within a reentrant checkpoint, whose line `place` is then; it took numbers; its result is a
    constant to autograd. `off`: the line that has switched recording off.
    """

    place: Place
    name: str
    how: str
    off: Place | None = None


@dataclass
class End:
    """The leaves of the graphs that a cut has ended.

    `is_used`: something that has a graph was computed with what came of it; `is_whole`: its results are whole numbers.
    """

    leaves: dict[int, weakref.ref[torch.Tensor]] = field(default_factory=dict)
    looks: int = 0
    is_used: bool = False
    is_whole: bool = False


class Cuts:
    """The cut that each tensor without a graph comes from, by the operations that led from one to the other."""

    def __init__(self, tally: Lives) -> None:
        self._tally = tally
        self._known: dict[int, tuple[weakref.ref[torch.Tensor], Cut]] = {}
        self._ends: dict[Cut, End] = {}
        self._off: Place | None = None

    def note(self, func: Any, given: Iterable[Any], results: list[torch.Tensor], place: Place) -> None:
        """`func` has made `results`, none of which has a graph, of what it was given."""
        inputs = [tensor for value in given for tensor in tensors_in(value)]
        name = operation(func)
        found = [known for tensor in inputs if (known := self.of(tensor)) is not None]
        # what ended a graph says more than what data was made of
        cut = next((known for known in found if known in self._ends), next(iter(found), None))
        if any(tensor.requires_grad for tensor in inputs):
            cut = self._cut(place, name)
            self._end(cut, inputs, results)
        elif name in FROM_NUMBERS and not inputs:
            cut = Cut(place, name, NUMBERS)
        if cut is not None:
            for tensor in results:
                self._keep(tensor, cut)

    def switched(self, *, on: bool, place: Place) -> None:
        """Recording was switched at `place`, whatever it was before."""
        self._off = None if on else self._off or place

    def _cut(self, place: Place, name: str) -> Cut:
        """The cut that an operation makes now, which was given something with a graph."""
        if torch.is_inference_mode_enabled():
            return Cut(place, name, INFERENCE)
        if torch.is_grad_enabled():
            return Cut(place, name, CONSTANT)
        outer = checkpoint_above(sys._getframe(2))
        return Cut(place, name, UNRECORDED, self._off) if outer is None else Cut(self._tally.at(outer), name, CHECKPOINTED)  # type: ignore[arg-type]

    def of(self, tensor: Any) -> Cut | None:
        """The cut that a tensor comes from, if it is known."""
        ref, cut = self._known.get(id(tensor), (None, None))
        return cut if ref is not None and ref() is tensor else None

    def note_use(self, func: Any, given: Iterable[Any], results: list[torch.Tensor], place: Place) -> None:
        """`func` has made `results`, which require grad, of what it was given."""
        inputs = [tensor for value in given for tensor in tensors_in(value)]
        if inputs and (name := operation(func)) in FROM_NUMBERS and all(node_of(tensor) is None for tensor in results):
            made = Cut(place, name, NUMBERS)
            self._end(made, [tensor for tensor in inputs if tensor.requires_grad], results)
            self._ends.get(made, End()).is_used = True
        for cut in filter(None, map(self.of, inputs)):
            self._ends.get(cut, End()).is_used = True

    def lost(self, leaf: torch.Tensor) -> Cut | None:
        """The cut between a leaf and the graphs that were made with what came of it; None where there is none, or it is not known."""
        ends = [(cut, end) for cut, end in self._ends.items() if end.is_used and (ref := end.leaves.get(id(leaf))) is not None and ref() is leaf]
        # a number of a class or an action has no gradient: what else was cut is meant to have one
        return next((cut for cut, end in ends if not end.is_whole), next((cut for cut, _ in ends), None))

    def _end(self, cut: Cut, inputs: list[torch.Tensor], results: list[torch.Tensor]) -> None:
        """Keep the leaves of what is cut, the first times."""
        if cut not in self._ends and len(self._ends) >= ENDS:
            return
        end = self._ends.setdefault(cut, End())
        if end.looks < LOOKS:
            end.looks += 1
            end.is_whole = not any(tensor.dtype.is_floating_point or tensor.dtype.is_complex for tensor in results)
            end.leaves.update((id(leaf), weakref.ref(leaf)) for leaf in leaves_below(inputs))

    def _keep(self, tensor: torch.Tensor, cut: Cut) -> None:
        key, known = id(tensor), self._known
        if len(known) < KEPT:

            def forget(ref: weakref.ref[torch.Tensor]) -> None:
                if known.get(key, (None,))[0] is ref:
                    del known[key]

            known[key] = (weakref.ref(tensor, forget), cut)


def leaves_below(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """The leaves that the graphs of tensors lead back to: https://docs.pytorch.org/docs/stable/autograd.html, `Node.next_functions`."""
    made = [(tensor, node_of(tensor)) for tensor in tensors if tensor.requires_grad]
    # a view that was made while nothing was recorded requires grad, as what it is of does, and has no node
    found = [tensor if tensor._base is None else tensor._base for tensor, node in made if node is None]
    nodes = [node for _, node in made if node is not None]
    seen = set(nodes)
    for node in nodes:  # it grows while it is read
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.append(variable)
        new = [each for each, _ in node.next_functions if each is not None and each not in seen]
        if len(nodes) < BELOW:
            seen.update(new)
            nodes += dict.fromkeys(new)
    return found


def node_of(tensor: torch.Tensor) -> Any:
    """The node that made a tensor; None where there is none, or where torch refuses the question: of a view that went stale it raises."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


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

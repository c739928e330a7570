"""What a run trains: the parameters that optimizers step without a gradient, those that nobody steps, and losses without a graph."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..births import Site
from ..looking import attributes, items
from ..results import Results, can_be_read
from ..tensors import is_tensor, unseen
from .carriers import held_in
from .cuts import Cut, Cuts
from .failures import named, place
from .lives import NEVER, Place

MOST = 20_000  # parameters
NAMED = 64  # of a line's get their names
TOLD = 8
NAMED_AT = (1, 2, 8)  # steps of a line


@dataclass
class Parameter:
    """A parameter of an optimizer: in how many steps it had no gradient, or one of zeros only.

    `name`: where it was found; `cut`: where the graph was lost between it and what was made with it.
    """

    tensor: weakref.ref[torch.Tensor]
    shape: tuple[int, ...]
    missing: int = 0
    zeros: int = 0
    is_trained: bool = False
    name: dict[str, Any] | None = None
    cut: Cut | None = None


@dataclass
class Steps:
    """The steps that one line makes, and what its optimizers hold."""

    count: int = 0
    parameters: dict[int, Parameter] = field(default_factory=dict)


@dataclass
class Start:
    """The backward passes of a line that began at a tensor which nothing was computed for: `cut` is where its graph was lost."""

    count: int = 0
    cut: dict[str, Any] | None = None


def stepped_by(optimizer: Any) -> list[torch.Tensor]:
    """The parameters of an optimizer that require a gradient."""
    groups = items(attributes(optimizer).get("param_groups")) or ()
    found = [tensor for group in groups for tensor in items(dict.get(group, "params")) or ()]
    return [tensor for tensor in found[:MOST] if is_tensor(tensor) and tensor.requires_grad]


class Training:
    """Looks at gradients around each step, at those of a parameter as long as none but zeros came to it."""

    def __init__(self, results: Results, cuts: Cuts) -> None:
        self._results, self._cuts = results, cuts
        self._steps: dict[Site, Steps] = {}
        self._held: dict[int, Parameter] = {}  # what optimizers have, also those that make no step
        self._given: dict[Place, None] = {}  # the lines that gave optimizers parameters
        self._starts: dict[Site, Start] = {}
        self._first: dict[int, tuple[torch.Tensor, dict[str, Any] | None]] = {}  # of those without an optimizer: what they were
        self._unkept: dict[Place, int] = {}  # lines that read a `.grad` which torch does not keep

    @unseen()
    def gave(self, parameters: list[Any], site: Place) -> None:
        """An optimizer was given `parameters` at `site`."""
        self._given[site] = None
        for tensor in parameters[:MOST]:
            if is_tensor(tensor):
                self._known(tensor)

    @unseen()
    def stepping(self, optimizer: Any) -> None:
        """`optimizer` is about to make a step."""
        for tensor in stepped_by(optimizer):
            self._look(tensor)

    @unseen()
    def stepped(self, optimizer: Any, site: Site, frames: Iterable[Any]) -> None:
        """`optimizer` has made a step, asked for at `site` by the innermost of the user's `frames`: a closure has brought gradients by now."""
        steps = self._steps.setdefault(site, Steps())
        steps.count += 1
        for tensor in stepped_by(optimizer):
            known = self._look(tensor)
            steps.parameters[id(tensor)] = known
            known.missing += not known.is_trained and tensor.grad is None
            known.zeros += not known.is_trained and tensor.grad is not None
        if steps.count in NAMED_AT:
            frames = list(frames)
            self._name([each for each in steps.parameters.values() if each.name is None], frames)
            for each in steps.parameters.values():
                if not each.is_trained and (tensor := each.tensor()) is not None:
                    each.cut = self._cuts.lost(tensor)
            self._note_unheld(frames)

    def _known(self, tensor: torch.Tensor) -> Parameter:
        known = self._held.get(id(tensor))
        if known is None or known.tensor() is not tensor:
            known = self._held[id(tensor)] = Parameter(weakref.ref(tensor), tuple(tensor.shape))
        return known

    def _look(self, tensor: torch.Tensor) -> Parameter:
        known = self._known(tensor)
        if not known.is_trained and tensor.grad is not None:
            known.is_trained = not can_be_read(tensor.grad) or bool(tensor.grad.any())
        return known

    def _name(self, waiting: list[Parameter], frames: list[Any]) -> None:
        by_tensor = {id(tensor): each for each in waiting if (tensor := each.tensor()) is not None}
        for held in held_in(frames, lambda tensor: id(tensor) in by_tensor) if by_tensor else ():
            each = by_tensor[id(held.tensor)]
            each.name = each.name or named(held)

    def _note_unheld(self, frames: list[Any]) -> None:
        """Keep what the parameters are that backward passes reach and no optimizer has: one that is stepped by hand changes."""
        walked = [(number, each.alive) for number, each in enumerate(self._results.walked[:NAMED])]
        free = {id(tensor): number for number, tensor in walked if tensor is not None and not self._is_held(tensor)}
        names: dict[int, dict[str, Any]] = {}
        for held in held_in(frames, lambda tensor: id(tensor) in free) if free else ():
            names.setdefault(free[id(held.tensor)], named(held))
        for number, tensor in walked:
            if tensor is not None and id(tensor) in free:
                self._first.setdefault(number, (tensor.detach().clone(), names.get(number)))
            elif tensor is not None:
                self._first.pop(number, None)

    def _is_held(self, tensor: torch.Tensor) -> bool:
        known = self._held.get(id(tensor))
        return known is not None and known.tensor() is tensor

    def walked_from(self, root: Any, site: Site) -> None:
        """A backward pass has begun at `root`."""
        with unseen():
            if is_tensor(root) and root.grad_fn is None:
                start = self._starts.setdefault(site, Start())
                start.count += 1
                cut = self._cuts.of(root)
                if cut is not None:
                    start.cut = told_of(cut)

    def read_gradient(self, tensor: Any, site: Place) -> None:
        """`tensor.grad` was read."""
        with unseen():
            if is_tensor(tensor) and not tensor.is_leaf and not tensor.retains_grad:
                self._unkept[site] = self._unkept.get(site, 0) + 1

    @unseen()
    def told(self) -> dict[str, Any]:
        """What a report says of it."""
        return {
            "steps": [self._row(site, steps) for site, steps in self._steps.items()],
            "leaves": [{**place(site, NEVER), "walks": each.count, "cut": each.cut} for site, each in self._starts.items()],  # type: ignore[arg-type]
            "given": [place(site, NEVER) for site in self._given],
            "unheld": self._unheld(),
            "unkept": [{**place(site, NEVER), "times": count} for site, count in self._unkept.items()],
        }

    def _row(self, site: Site, steps: Steps) -> dict[str, Any]:
        parameters = list(steps.parameters.values())
        missing = [each for each in parameters if not each.is_trained and not each.zeros]
        # that of a bias may be zero for good, as what it adds to both sides of a difference
        layers = {owner(each) for each in parameters if each.is_trained}
        zeros = [each for each in parameters if not each.is_trained and each.zeros and owner(each) not in layers]
        return {
            **place(site, NEVER),  # type: ignore[arg-type]
            "steps": steps.count,
            "parameters": len(parameters),
            "missing": {"count": len(missing), "first": [self._one(each) for each in missing[:TOLD]]},
            "zeros": {"count": len(zeros), "first": [self._one(each) for each in zeros[:TOLD]]},
        }

    def _one(self, each: Parameter) -> dict[str, Any]:
        return {"shape": list(each.shape), "name": each.name, "cut": None if each.cut is None else told_of(each.cut)}

    def _unheld(self) -> list[dict[str, Any]]:
        """The parameters that got gradients, that no optimizer had, and that are still what they were."""
        same = [
            (first, name)
            for number, (first, name) in self._first.items()
            if not self._is_held(now := self._results.walked[number].tensor) and torch.equal(first, now.detach())
        ]
        return [{"shape": list(first.shape), "name": name} for first, name in same]


def told_of(cut: Cut) -> dict[str, Any]:
    """What a report says of a cut."""
    told = {**place(cut.place, NEVER), "name": cut.name, "how": cut.how}
    return told if cut.off is None else {**told, "off": place(cut.off, NEVER)}


def owner(each: Parameter) -> str | None:
    """The name of the module that a parameter is one of."""
    return each.name["name"].rpartition(".")[0] if each.name is not None else None

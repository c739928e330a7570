"""Ways to run a script on where its fault would end it, so that its repair has something to be measured by.

retain  no walk frees its graph: what several walks over one graph add up to
cut     what has been walked is a constant from then on: what detached state computes
skip    a walk over a freed graph does nothing: what is left without the repeated walk
copy    what an operation saves is a copy: what the out-of-place form computes
walk    a step starts with a walk from the last value of one element that nobody has walked: what is trained by a loss that is left out
train   a step also steps what has a gradient and no optimizer, and each checkpoint records: what is trained by layers that a module has not
        registered, or that a checkpoint has run without recording
old     what torch understood before 0.4: `loss.data[0]`, `retain_variables`, a gradient of one element
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils import checkpoint

from .births import Birth, birth_of
from .tensors import is_tensor
from .walks import Asked
from .watch import Watch

SECOND_WALK = "Trying to backward through the graph a second time"
RETAIN = 2  # place among the arguments of the engine
QUESTIONS = ("backward", "grad", "__get__", "__set__")


class Reference(Watch):
    """A watch that also steps in; `how` names one or more ways, joined by `+`."""

    def __init__(self, how: str, saved: bool = False) -> None:
        super().__init__(saved)
        self.ways = set(how.split("+"))
        if unknown := self.ways - {"retain", "cut", "skip", "copy", "walk", "train", "old"}:
            raise ValueError(f"no such reference: {unknown}")
        self.unwalked: list[torch.Tensor] = []  # values of one element since the last step
        self.leaves: dict[int, torch.Tensor] = {}  # that walks came to
        self.walks.perform = self.perform  # type: ignore[method-assign]
        self.walks.frees_all = "cut" in self.ways
        if "old" in self.ways:
            self._speak_old()
        if "train" in self.ways:
            _record_in_checkpoints()
        if "copy" in self.ways:
            hooks = saved_tensors_hooks(lambda tensor: tensor.detach().clone(), lambda kept: kept)
            hooks.__enter__()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if "cut" in self.ways and name not in QUESTIONS:
            args, kwargs = cut(args), cut(kwargs or {})
        if "old" in self.ways and name == "__getitem__" and args[0].dim() == 0 and args[1] == 0:
            return args[0]
        return super().__torch_function__(func, types, args, kwargs)

    def saw(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        super().saw(func, args, kwargs, result)
        if "walk" in self.ways and is_tensor(result) and result.numel() == 1 and result.grad_fn is not None:
            self.unwalked.append(result)

    def steps(self, optimizer: Any) -> None:
        if "train" in self.ways:
            known = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            further = [leaf for name, leaf in self.leaves.items() if name not in known]
            if further:
                optimizer.add_param_group({"params": further})
                self.results.trained(further)
        made, self.unwalked = self.unwalked, []
        trained = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        for tensor in reversed(made):
            birth = birth_of(tensor)
            if birth is not None and not leads_into_the_past(birth) and leads_to(tensor.grad_fn, trained):
                tensor.backward()  # type: ignore[no-untyped-call]
                break

    def _speak_old(self) -> None:
        """`backward` refuses old words before any mode hears of them."""
        backward: Any = torch.Tensor.backward

        def old_backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
            if "retain_variables" in kwargs:
                kwargs["retain_graph"] = kwargs.pop("retain_variables")
            backward(tensor, *(word.reshape(tensor.shape) if isinstance(word, torch.Tensor) else word for word in args), **kwargs)

        torch.Tensor.backward = old_backward  # type: ignore[method-assign,assignment]

    def perform(self, walk: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], asked: Asked) -> Any:
        if "train" in self.ways:
            self.leaves.update((id(leaf), leaf) for root in asked.roots if is_tensor(root) for leaf in leaves_of(root.grad_fn))
        if "retain" in self.ways:
            args = (*args[:RETAIN], True, *args[RETAIN + 1 :])
        try:
            return walk(*args, **kwargs)
        except RuntimeError as error:
            if "skip" not in self.ways or not str(error).startswith(SECOND_WALK):
                raise
            return None


def _record_in_checkpoints() -> None:
    """A checkpoint asks its parameters, too, whether one of them needs a gradient."""
    plain = checkpoint.checkpoint

    def recording(*args: Any, **kwargs: Any) -> Any:
        return plain(*args, **{**kwargs, "use_reentrant": False})

    checkpoint.checkpoint = recording


def cut(value: Any) -> Any:
    """`value` with the tensors detached that lead into a graph which has been walked."""
    if isinstance(value, torch.Tensor):
        birth = birth_of(value)
        return value.detach() if birth is not None and leads_into_the_past(birth) else value
    if type(value) in (tuple, list):
        return type(value)(cut(item) for item in value)
    if type(value) is dict:
        return {name: cut(item) for name, item in value.items()}
    return value


def leaves_of(function: Any) -> list[torch.Tensor]:
    """The leaves below a gradient function."""
    todo, seen, found = [function], set(), []
    while todo:
        function = todo.pop()
        if function is not None and function not in seen:
            seen.add(function)
            if hasattr(function, "variable"):
                found.append(function.variable)
            todo.extend(below for below, _ in function.next_functions)
    return found


def leads_to(function: Any, leaves: set[int]) -> bool:
    """Whether one of the leaves is below a gradient function."""
    todo, seen = [function], set()
    while todo:
        function = todo.pop()
        if id(getattr(function, "variable", None)) in leaves:
            return True
        if function is not None and function not in seen:
            seen.add(function)
            todo.extend(below for below, _ in function.next_functions)
    return False


def leads_into_the_past(birth: Birth) -> bool:
    todo, seen = [birth], set()
    while todo:
        birth = todo.pop()
        if birth.freed:
            return True
        if id(birth) not in seen:
            seen.add(id(birth))
            todo.extend(birth.below)
    return False

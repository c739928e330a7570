"""Find out what one call makes of shapes, by running it on inputs of many shapes."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch_probe import Call, Facts, Trial, fresh

Shape = tuple[int, ...]

SHAPES: tuple[Shape, ...] = ((), (1,), (2,), (2, 3), (3, 2), (3, 3), (2, 3, 2), (2, 3, 3))
# parameters of which it is recorded where they stand
NAMED = ("inplace", "reduce", "reduction", "training")


def shape_facts(trial: Trial) -> Facts:
    """What the result of a function has to do with the shapes of its arguments."""
    call = fresh(trial, plain=True)
    if not call.args or call.weights or any(isinstance(arg, torch.Tensor) and arg.layout is not torch.strided for arg in call.args):
        return {}
    if not isinstance(call.args[0], torch.Tensor):
        return {"sized": is_sized(call)}
    keeps, elementwise, tried = True, True, set()
    for shape, result, others in outcomes(trial):
        tried.add(shape)
        keeps = keeps and result.shape == shape
        elementwise = elementwise and result.numel() == _elements([shape, *others])
        if not keeps and not elementwise:
            break
    known = len(tried) > 1
    return {"keeps_shape": keeps and known, "elementwise": elementwise and known, "along": is_along(call), "reshapes": reshapes(trial)}


def outcomes(trial: Trial) -> Iterator[tuple[Shape, torch.Tensor, list[Shape]]]:
    """The first argument's shape, the result, and the other tensors' shapes, wherever the call works."""
    given = fresh(trial, plain=True).args
    own = tuple(given[0].shape)
    count = sum(isinstance(arg, torch.Tensor) for arg in given[1:])
    for first in dict.fromkeys((own, (1, *own), own[1:], (math.prod(own),), *SHAPES)):
        for others in _others(first, count):
            call = fresh(trial, plain=True)
            wanted = iter(others)
            try:
                args = [shaped(arg, next(wanted)) if isinstance(arg, torch.Tensor) else arg for arg in call.args[1:]]
                result = call.function(shaped(call.args[0], first), *args, **call.kwargs)
            except Exception:  # it does not take these shapes
                continue
            if isinstance(result, torch.Tensor):
                yield first, result, [tuple(arg.shape) for arg in args if isinstance(arg, torch.Tensor)]


def _others(first: Shape, count: int) -> Iterator[tuple[Shape | None, ...]]:
    """Shapes for the `count` other tensors, None where a tensor stays what it is."""
    if count < 2:
        yield from itertools.product(dict.fromkeys((None, first, *SHAPES)), repeat=count)
    elif count == 2:
        yield from itertools.product(dict.fromkeys((None, first, (), (2, 3), (3, 2), (2, 3, 2))), repeat=2)
    else:
        yield from ((shape,) * count for shape in dict.fromkeys((None, first, *SHAPES)))


def shaped(value: torch.Tensor, shape: Shape | None) -> torch.Tensor:
    """The same numbers, each as often as it is needed, in another shape."""
    if shape is None:
        return value
    count = math.prod(shape)
    flat = value.reshape(-1)
    return flat.repeat_interleave(count // flat.numel() + 1)[:count].reshape(shape)


def _elements(shapes: list[Shape]) -> int:
    try:
        return math.prod(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        return max(map(math.prod, shapes))


def is_sized(call: Call) -> bool:
    """Whether the arguments are the sizes of the result, one by one or as a list."""
    return all(_shape(call.function, given) == shape for given, shape in (((2,), (2,)), ((2, 3), (2, 3)), (((4,),), (4,)), (([2, 3],), (2, 3))))


def is_along(call: Call) -> bool:
    """Whether a number behind the tensor is the dimension that is reduced."""
    tensor = shaped(call.args[0], (2, 3, 4))
    return all(_shape(call.function, (tensor, dim)) == shape for dim, shape in ((0, (3, 4)), (1, (2, 4)), (2, (2, 3))))


def _shape(function: Callable[..., Any], given: tuple[Any, ...]) -> Shape | None:
    try:
        result = function(*given)
    except Exception:  # it does not take these
        return None
    return tuple(result.shape) if isinstance(result, torch.Tensor) else None


def reshapes(trial: Trial) -> bool:
    """Whether the first argument has another shape afterwards."""
    for shape in (None, (1, 3)):
        call = fresh(trial, plain=True)
        tensor = shaped(call.args[0], shape).clone()
        before = tensor.shape
        try:
            call.function(tensor, *call.args[1:], **call.kwargs)
        except Exception:  # it does not take this shape
            continue
        if tensor.shape != before:
            return True
    return False


def positions(function: Callable[..., Any]) -> dict[str, int]:
    """Where the parameters with the names of `NAMED` stand among those that can be given by position."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built in
        return {}
    return {
        parameter.name: place
        for place, parameter in enumerate(parameters)
        if parameter.name in NAMED and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }

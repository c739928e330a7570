"""Find out what one call does to the autograd graph, by running it on small inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

Facts = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One call that is about to be made. `weights` are the parameters of a layer."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    weights: tuple[torch.Tensor, ...] = ()

    def run(self) -> Any:
        return self.function(*self.args, **self.kwargs)


# Every experiment spends its call, so experiments ask for a fresh one.
Trial = Callable[[], Call]


def tensors_of(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)


def kind_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "tensor"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float, complex)):
        return "number"
    if isinstance(value, (torch.Size, torch.nn.utils.rnn.PackedSequence)):
        return "other"
    for type_, name in ((tuple, "tuple"), (list, "list"), (dict, "dict")):
        if isinstance(value, type_):
            return name
    return "other"


def items_of(value: Any) -> Any:
    """The shape of a container: `tensor` can carry a graph, `cut` is a tensor that cannot."""
    if isinstance(value, torch.Tensor):
        return "tensor" if value.requires_grad else "cut"
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return [items_of(item) for item in value]
    return kind_of(value)


def off_leaf(value: Any) -> Any:
    """In-place operations refuse leaves; `clone` saves nothing, so it does not disturb the walk."""
    if isinstance(value, torch.Tensor):
        return value.detach().requires_grad_().clone() if value.requires_grad else value
    if type(value) in (tuple, list):
        return type(value)(off_leaf(item) for item in value)
    return value


def fresh(trial: Trial, plain: bool = False, only: int | None = None) -> Call:
    """The call anew; `plain`: nothing has a graph, `only`: nothing but the argument at this position has one."""
    torch.manual_seed(0)
    call = trial()
    convert = _without_grad if plain or only is not None else off_leaf
    args = tuple(off_leaf(arg) if place == only else convert(arg) for place, arg in enumerate(call.args))
    kwargs = {name: convert(value) for name, value in call.kwargs.items()}
    return Call(call.function, args, kwargs, call.weights)


def _without_grad(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(_without_grad(item) for item in value)
    return value.detach() if isinstance(value, torch.Tensor) else value


def live(result: Any) -> list[torch.Tensor]:
    return [tensor for tensor in tensors_of(result) if tensor.requires_grad]


def walk(outputs: list[torch.Tensor]) -> str:
    """Walk back from `outputs` with a gradient that is not trivial; the error's text, or nothing."""
    try:
        torch.autograd.backward(outputs, [torch.randn_like(output.detach()) for output in outputs])
    except Exception as error:  # what is raised is the fact that is asked for
        return f"{type(error).__name__}: {error}"
    return ""


def saves(trial: Trial, only: int | None = None) -> bool:
    """An operation whose walk cannot even be tried once counts as saving: that is the careful side."""
    outputs = live(fresh(trial, only=only).run())
    first = walk(outputs)
    return bool(first) or "second time" in walk(outputs)


def touch(tensor: torch.Tensor) -> bool:
    """Bump the version without changing the graph: a detached alias shares the counter."""
    try:
        alias = tensor.detach()
        alias.copy_(alias.clone())
    except Exception:  # an expanded or sparse tensor refuses the write
        return False
    return True


def _breaks(outputs: list[torch.Tensor], written: torch.Tensor) -> bool:
    return touch(written) and "modified by an inplace operation" in walk(outputs)


def saves_output(trial: Trial) -> bool:
    count = len(live(fresh(trial).run()))
    for position in range(count):
        outputs = live(fresh(trial).run())
        if _breaks(outputs, outputs[position]):
            return True
    return False


def saved_inputs(trial: Trial, skip_first: bool) -> list[int]:
    """Positions of the arguments that the operation keeps for its backward."""
    found = []
    for position in range(len(fresh(trial).args)):
        if position == 0 and skip_first:
            continue
        for inner in range(len(list(tensors_of(fresh(trial).args[position])))):
            call = fresh(trial)
            outputs = live(call.run())
            if _breaks(outputs, list(tensors_of(call.args[position]))[inner]):
                found.append(position)
                break
    return found


def carriers(trial: Trial) -> list[int]:
    """The positions of the arguments that give the result a graph, each alone."""
    return [place for place in range(len(fresh(trial).args)) if _carries(trial, place)]


def _carries(trial: Trial, place: int) -> bool:
    if not any(tensor.requires_grad for tensor in tensors_of(fresh(trial).args[place])):
        return False
    try:
        return bool(live(fresh(trial, only=place).run()))
    except Exception:  # it takes only arguments of one kind
        return False


def saved_for(trial: Trial, inputs: list[int], places: list[int]) -> list[list[int]]:
    """For each of the saved `inputs`, at which of `places` something has to need a gradient; nothing if each of them will do."""
    found = [[place for place in places if _saved(trial, position, place)] for position in inputs]
    return [] if all(each == places for each in found) else found


def _saved(trial: Trial, position: int, place: int) -> bool:
    for inner in range(len(list(tensors_of(fresh(trial).args[position])))):
        call = fresh(trial, only=place)
        outputs = live(call.run())
        if _breaks(outputs, list(tensors_of(call.args[position]))[inner]):
            return True
    return False


def saves_weights(trial: Trial, plain: bool) -> bool:
    """Does a later step of the optimizer break the walk? `plain`: the input carries no graph."""
    for position in range(len(fresh(trial).weights)):
        call = fresh(trial, plain)
        outputs = live(call.run())
        if outputs and _breaks(outputs, call.weights[position]):
            return True
    return False


def is_random(trial: Trial) -> bool:
    """Drawn from the generator: other seeds give other results, the same seed gives the same."""
    call = fresh(trial)
    drawn = [_seeded(call, fresh(trial), seed) for seed in (7, 8, 9, 7, 8, 9)]
    reproducible = all(map(_equal, drawn[:3], drawn[3:]))
    return reproducible and not (_equal(drawn[0], drawn[1]) and _equal(drawn[0], drawn[2]))


def _seeded(call: Call, inputs: Call, seed: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    result = call.function(*inputs.args, **inputs.kwargs)
    return [tensor.detach().clone() for tensor in tensors_of(result)]


def _equal(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(_same(a, b) for a, b in zip(first, second, strict=False))


def _same(first: torch.Tensor, second: torch.Tensor) -> bool:
    if first.shape != second.shape:
        return False
    first, second = first.to_dense(), second.to_dense()
    return bool(((first == second) | ((first != first) & (second != second))).all())


def is_scalar(trial: Trial) -> bool:
    """One element for these inputs, and still one when every input gets one dimension more."""
    if fresh(trial).run().dim():
        return False
    call = fresh(trial)
    try:
        wider = call.function(*map(_wider, call.args), **call.kwargs)
    except Exception:  # takes this rank only
        return True
    return isinstance(wider, torch.Tensor) and not wider.dim()


def _wider(value: Any) -> Any:
    return torch.stack([value, value]) if isinstance(value, torch.Tensor) else value


def is_linear(trial: Trial) -> bool:
    """Of a sum of inputs it gives the sum of the results, and of a multiple the multiple; numbers of few digits are rounded."""
    first, second = (_spread(fresh(trial, plain=True).args[:1], seed) for seed in (1, 2))
    results = [_of_first(trial, given) for given in (first, second, [a + b for a, b in zip(first, second, strict=True)], [4 * a for a in first])]
    if any(result is None or result.layout is not torch.strided or not result.dtype.is_floating_point for result in results):
        return False
    one, other, both, multiple = (result.detach().double() for result in results)
    if not one.shape == other.shape == both.shape:
        return False
    return all(torch.allclose(a, b, rtol=1e-2, atol=0.1) for a, b in ((one + other, both), (4 * one, multiple)))


def _spread(given: tuple[Any, ...], seed: int) -> list[torch.Tensor]:
    """Numbers of both signs in the shapes of the tensors that are given."""
    torch.manual_seed(seed)
    return [torch.randn(tensor.shape, dtype=torch.float64) * 8 for tensor in tensors_of(list(given))]


def _of_first(trial: Trial, numbers: list[torch.Tensor]) -> torch.Tensor | None:
    """The result for these numbers in the first argument."""
    call = fresh(trial, plain=True)
    first = list(numbers) if isinstance(call.args[0], (tuple, list)) else numbers[0].clone()
    try:
        result = call.function(first, *call.args[1:], **call.kwargs)
    except Exception:  # it does not take any number
        return None
    return result if isinstance(result, torch.Tensor) else None


def keeps_statistics(trial: Trial) -> bool:
    """Whether a layer changes its buffers in a forward pass."""
    call = fresh(trial)
    if not isinstance(call.function, torch.nn.Module):
        return False
    before = [buffer.clone() for buffer in call.function.buffers()]
    call.run()
    return not all(map(torch.equal, before, call.function.buffers()))


def is_factory(trial: Trial) -> bool:
    call = fresh(trial)
    try:
        made = call.function(*call.args, **{**call.kwargs, "requires_grad": True})
    except Exception:  # does not know the keyword
        return False
    return isinstance(made, torch.Tensor) and made.is_leaf and made.requires_grad


def alias_of(result: Any, call: Call) -> str:
    if not call.args or not isinstance(call.args[0], torch.Tensor):
        return ""
    if result is call.args[0]:
        return "self"
    outputs = list(tensors_of(result))
    try:
        home = call.args[0].untyped_storage().data_ptr()
        return "view" if home and any(o.untyped_storage().data_ptr() == home for o in outputs) else ""
    except Exception:  # no storage to share (sparse, nested)
        return ""


def copies(trial: Trial) -> bool:
    """Whether the result of what gives a view is a copy where the input lies in memory in another order."""
    call = fresh(trial)
    other = Call(call.function, tuple(map(_out_of_order, call.args)), call.kwargs)
    try:
        return alias_of(other.run(), other) == ""
    except Exception:  # `view` refuses such memory
        return False


def _out_of_order(value: Any) -> Any:
    """The same numbers, which lie in memory in another order, or with gaps."""
    if not isinstance(value, torch.Tensor) or not value.dim():
        return value
    return value.mT.contiguous().mT if value.dim() > 1 else torch.stack([value, value], -1)[..., 0]


def _effects(result: Any, call: Call, before: list[int]) -> Facts:
    after = [tensor._version for tensor in tensors_of(call.args)]
    facts: Facts = {"alias": alias_of(result, call)}
    written = bool(before) and after[0] != before[0]
    facts["inplace"] = written and facts["alias"] == "self"
    facts["mutates"] = after != before and not facts["inplace"]
    return facts


def probe(trial: Trial) -> Facts:
    """All facts of one call; raises what the call raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = fresh(trial)
        inputs = list(tensors_of(call.args)) + list(tensors_of(call.kwargs))
        carrying = any(tensor.requires_grad for tensor in inputs)
        before = [tensor._version for tensor in tensors_of(call.args)]
        result = call.run()
        if result is NotImplemented:
            raise TypeError("an operator that refuses its operand")
        facts: Facts = {"result": kind_of(result), **_effects(result, call, before)}
        if facts["result"] in ("tuple", "list"):
            facts["items"] = items_of(result)
        facts["copies"] = facts["alias"] == "view" and copies(trial)
        facts["differentiable"] = bool(live(result))
        facts["joins"] = isinstance(call.args[0] if call.args else None, (list, tuple)) and any(True for _ in tensors_of(call.args[0]))
        facts["random"] = any(True for _ in tensors_of(result)) and is_random(trial)
        if facts["result"] == "tensor":
            facts["scalar"] = is_scalar(trial)
            of_tensors = bool(call.args) and not call.weights and any(True for _ in tensors_of(list(call.args[:1])))
            facts["linear"] = of_tensors and facts["differentiable"] and not facts["random"] and is_linear(trial)
        facts["statistics"] = keeps_statistics(trial)
        facts.update(_graph_facts(trial, facts) if live(result) else _cut_facts(trial, facts, carrying))
    return {name: value for name, value in facts.items() if value not in (False, "", [])}


def _graph_facts(trial: Trial, facts: Facts) -> Facts:
    inputs, places, keeps = saved_inputs(trial, skip_first=bool(facts["inplace"])), carriers(trial), saves(trial)
    return {
        "saves": keeps,
        "saves_output": saves_output(trial),
        "saves_inputs": inputs,
        "saved_for": saved_for(trial, inputs, places),
        "saves_nothing_for": [place for place in places if keeps and not saves(trial, place)],
        "parameters": bool(fresh(trial).weights),
        "saves_parameters": saves_weights(trial, plain=False),
        "saves_parameters_plain": saves_weights(trial, plain=True),
    }


def _cut_facts(trial: Trial, facts: Facts, carrying: bool) -> Facts:
    has_tensors = facts["result"] in ("tensor", "tuple", "list")
    return {"factory": facts["result"] == "tensor" and is_factory(trial), "cuts": carrying and has_tensors}

"""What an error is about that is none of a refused backward pass, or of one that has no way to an input: the tensor, and the line that made it."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ..births import birth_of, node_of
from ..tensors import is_tensor, unseen
from .carriers import held_in
from .failures import named, place, reached
from .leaves import Leaves
from .lives import Life, Lives, Place

# the kind of an error, by a part of its text: the function of torch that raises it, and its variable that holds the tensor
RAISED = {
    "grad can be implicitly created only for scalar outputs": ("not-scalar", "_make_grads", "out"),
    "support the deepcopy protocol": ("deepcopy", "__deepcopy__", "self"),
    "can't optimize a non-leaf Tensor": ("not-a-leaf", "add_param_group", "param"),
}

# what DistributedDataParallel says of parameters that got no gradient, which it names by their numbers
UNREDUCED = "Expected to have finished reduction in the prior iteration"
NUMBERS = re.compile(r"did not receive grad for rank \d+:((?: \d+)+)")


def looked_at(error: BaseException, tally: Lives, number: int, leaves: Leaves) -> dict[str, Any] | None:
    """What is known of an error that the program ended with: data for the report; None where it is none of these kinds. `number`: of backward passes before."""
    message = text_of(error)
    known = next((each for text, each in RAISED.items() if text in message), None)
    frames = frames_of(error)
    own = [(frame, line) for frame, line in frames if not tally.is_foreign(frame)]
    written = leaves.of(message)
    if not own or known is None and UNREDUCED not in message and not written:
        return None
    with unseen():
        told = {"message": message[:2000], "now": place(now(own), number)}
        if written:
            return {"kind": "leaf-write", **written, **told}
        if known is None:
            return {"kind": "ddp-unused", **told, "parameters": without_gradient(message, [frame for frame, _ in frames])}
        kind, function, variable = known
        inner = next((frame for frame, _ in frames if frame.f_code.co_name == function), None)
        tensor = inner.f_locals.get(variable) if inner is not None else None
        return {"kind": kind, **told, **made_by(tensor, [frame for frame, _ in own])} if is_tensor(tensor) else None


def without_gradient(message: str, frames: list[types.FrameType]) -> list[str]:
    """The names of the parameters whose numbers a message of DistributedDataParallel holds: it counts those that require grad.

    https://github.com/pytorch/pytorch/blob/main/torch/nn/parallel/distributed.py, `_build_params_for_reducer`
    """
    wrapper = torch.nn.parallel.DistributedDataParallel
    wrapped = next((found for frame in frames if isinstance(found := frame.f_locals.get("self"), wrapper)), None)
    match = NUMBERS.search(message)
    if wrapped is None or match is None:
        return []
    ignored = getattr(wrapped, "parameters_to_ignore", ())
    trained = [name for name, each in wrapped.module.named_parameters() if each.requires_grad and name not in ignored]
    return [trained[number] for number in map(int, match[1].split()) if number < len(trained)]


def text_of(error: BaseException) -> str:
    """The message of an error as torch raises it; empty for any other, whose text is the program's to make."""
    known = type(error) in (RuntimeError, ValueError) and len(error.args) == 1 and type(error.args[0]) is str
    return error.args[0] if known else ""


def is_full(error: BaseException) -> bool:
    """Whether an error says that there is no memory left, as torch and Python say it."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in text_of(error)


def frames_of(error: BaseException) -> list[tuple[types.FrameType, int]]:
    """The frames that an error has left, the innermost first, each with its line."""
    found: list[tuple[types.FrameType, int]] = []
    trace = error.__traceback__
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return found[::-1]


def now(frames: list[tuple[types.FrameType, int]]) -> Place:
    """The innermost line of the program."""
    (frame, line), callers = frames[0], frames[1:3]
    return Place(frame.f_code.co_filename, line, None, tuple((each.f_code.co_filename, row) for each, row in callers))


def made_by(tensor: torch.Tensor, frames: list[types.FrameType]) -> dict[str, Any]:
    """The shape of a tensor, the line that made it, and the name under which the program holds it."""
    told: dict[str, Any] = {"shape": list(tensor.shape)}
    life = birth_of(tensor)
    if isinstance(life, Life):
        told["made"] = place(life.site, life.step, life.kind)
    held = held_in(frames, lambda each: each is tensor)
    if held:
        told["carrier"] = named(held[0])
    return told


def unused(error: BaseException, inputs: Sequence[Any], roots: Iterable[Any], frames: list[Any]) -> dict[str, Any]:
    """The input that a loss was not computed from, the line that made the loss, and a leaf that it was computed from."""
    match = re.search(r"at index (\d+)", str(error))
    number = int(match[1]) if match else 0
    with unseen():
        told = made_by(inputs[number], frames) if number < len(inputs) and is_tensor(inputs[number]) else {}
        losses = [root for root in roots if is_tensor(root)]
        life = next((life for root in losses if isinstance(life := birth_of(root), Life)), None)
        if life is not None:
            told["crossing"] = place(life.site, life.step, life.kind)
        nodes = reached([node for root in losses if (node := node_of(root)) is not None])
        leaves = {id(leaf) for node in nodes if (leaf := getattr(node, "variable", None)) is not None}
        held = held_in(frames, lambda each: id(each) in leaves)
        if held:
            told["through"] = named(held[0])
    return told

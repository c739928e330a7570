"""Which tensors an operation saves for its backward, and in-place writes to them: the version counters of tensors.

Only what is sure is noted: a saved tensor that is missed costs a finding, one that is made up would cost a false one.
See https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Items

from graphfix.effects.table import OpFacts
from graphfix.interpreter.memory import has_grad, keep
from graphfix.interpreter.values import Constant, Sequence, Tensor, Value

# An input is saved for the gradient of the other one
CROSSWISE = frozenset(
    "mul multiply dot matmul mm bmm mv outer linear __mul__ __rmul__ __matmul__ addmm addmv addr addbmm baddbmm".split()
)
# Both inputs are saved, whichever of them has a graph
TOGETHER = frozenset(
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits maximum minimum max min MSELoss SmoothL1Loss HuberLoss "
    "BCEWithLogitsLoss".split()
)
# Where `inplace` stands among the arguments of a layer
INPLACE_AT = {"ReLU": 0, "ReLU6": 0, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Hardsigmoid": 0, "SELU": 0, "LeakyReLU": 1, "ELU": 1,
              "CELU": 1, "Dropout": 1, "Dropout1d": 1, "Dropout2d": 1, "Dropout3d": 1, "Threshold": 2, "Hardtanh": 2}  # fmt: skip


def save(made: Tensor, known: OpFacts, inputs: Items[Value], name: str) -> None:
    """Note on the node of `made` what the operation saved; `inputs` are its positional arguments."""
    node = made.node
    if node is None:
        return
    word = name.rsplit(".", 1)[-1]
    if known.saves_output and (not known.saves_inputs or len(inputs) == 1):
        node.saved += ((made.storage, made.storage.version),)
    keep(made, [value for value in saved_inputs(known, inputs, word) if isinstance(value, Tensor)])


def saved_inputs(known: OpFacts, inputs: Items[Value], word: str) -> Iterator[Value]:
    if word == "einsum":
        yield from multiplied(inputs)
        return
    indices = [index for index in known.saves_inputs if index < len(inputs)]
    if len(known.saves_inputs) < 2:
        yield from (inputs[index] for index in indices)
        return
    if word in ("div", "divide", "true_divide", "__truediv__"):
        yield from divided(*inputs[:2]) if len(inputs) > 1 else ()
        return
    for index in indices:
        others = [inputs[other] for other in indices if other != index]
        crosswise = word in CROSSWISE and any(map(has_grad, others))
        if crosswise or word in TOGETHER or all(has_grad(inputs[other]) for other in indices):
            yield inputs[index]


def multiplied(inputs: Items[Value]) -> Iterator[Value]:
    """What `einsum` saves of two operands: each for the gradient of the other one, where it multiplies views of them.

    It may copy an operand of which several dimensions become one, or sum it up first:
    https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Linear.cpp
    """
    equation, operands = inputs[0], list(inputs[1:])
    if len(operands) == 1 and isinstance(operands[0], Sequence):  # einsum(equation, [left, right])
        operands = operands[0].items
    if not isinstance(equation, Constant) or not isinstance(equation.value, str) or len(operands) != 2:
        return
    written = re.fullmatch(r"(\w+),(\w+)->(\w*)", equation.value.replace(" ", ""))
    left, right, result = written.groups() if written is not None else ("", "", "")
    parts = [set(left) & set(right) & set(result), (set(left) & set(right)) - set(result), set(left) - set(right), set(right) - set(left)]
    summed = (set(left) ^ set(right)) - set(result)
    if left and not summed and all(len(part) < 2 for part in parts):
        yield from (one for one, other in (operands, operands[::-1]) if has_grad(other))


def divided(left: Value, right: Value) -> Iterator[Value]:
    """What `left / right` saves: a number above is divided by means of the reciprocal, which saves its own result."""
    if isinstance(left, Tensor):
        yield right
        if has_grad(right):
            yield left

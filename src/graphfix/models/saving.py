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


def save(made: Tensor, known: OpFacts, inputs: Items[Value], name: str) -> None:
    """Note on the node of `made` what the operation saved; `inputs` are its positional arguments."""
    node = made.node
    if node is None:
        return
    word = name.rsplit(".", 1)[-1]
    if known.saves_output and (not known.saves_inputs or len(inputs) == 1):
        node.save(made.storage)
    keep(made, [value for value in saved_inputs(known, inputs, word) if isinstance(value, Tensor)])


def saved_inputs(known: OpFacts, inputs: Items[Value], word: str) -> Iterator[Value]:
    if word == "einsum":
        yield from multiplied(inputs)
        return
    for order, index in enumerate(known.saves_inputs):
        wanted = known.saved_for[order] if known.saved_for else None
        if index < len(inputs) and (wanted is None or any(has_grad(inputs[place]) for place in wanted if place < len(inputs))):
            yield inputs[index]


def operands(inputs: Items[Value]) -> list[Value]:
    """The arguments one by one: `einsum(equation, [left, right])` is `einsum(equation, left, right)`."""
    if len(inputs) == 2 and isinstance(inputs[0], Constant) and isinstance(inputs[1], Sequence) and not inputs[1].open:
        return [inputs[0], *inputs[1].items]
    return list(inputs)


def multiplied(inputs: Items[Value]) -> Iterator[Value]:
    """What `einsum` saves of two operands: each for the gradient of the other one, where it multiplies views of them.

    It may copy an operand of which several dimensions become one, or sum it up first:
    https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/Linear.cpp
    """
    equation, *factors = operands(inputs)
    if not isinstance(equation, Constant) or not isinstance(equation.value, str) or len(factors) != 2:
        return
    written = re.fullmatch(r"(\w+),(\w+)->(\w*)", equation.value.replace(" ", ""))
    left, right, result = written.groups() if written is not None else ("", "", "")
    parts = [set(left) & set(right) & set(result), (set(left) & set(right)) - set(result), set(left) - set(right), set(right) - set(left)]
    summed = (set(left) ^ set(right)) - set(result)
    if left and not summed and all(len(part) < 2 for part in parts):
        yield from (one for one, other in (factors, factors[::-1]) if has_grad(other))


def divided(left: Value, right: Value) -> Iterator[Value]:
    """What `left / right` saves: a number above is divided by means of the reciprocal, which saves its own result."""
    if isinstance(left, Tensor):
        yield right
        if has_grad(right):
            yield left

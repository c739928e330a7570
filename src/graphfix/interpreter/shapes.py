"""What is known of a tensor's shape: no dimension, one dimension (of size one), or anything else; None is that of its base.

No more is kept: it is what tells a number that torch 0.3 held in a vector from one that torch 0.4 holds in a scalar.
https://pytorch.org/blog/pytorch-0_4_0-migration-guide/#support-for-0-dimensional-scalar-tensors
"""

from __future__ import annotations

import ast

from graphfix.effects.table import OpFacts
from graphfix.interpreter.values import Arguments, Constant, Keywords, Sequence, Tensor, Value

Shape = tuple[int, ...] | None
SCALAR: Shape = ()
ONE: Shape = (1,)
VECTOR: Shape = (-2,)  # one dimension of any size
OTHER: Shape = (-1,)
BY_DIMENSION = (SCALAR, ONE, VECTOR, OTHER)
# operations that take the dimension first which they go along, and reduce none
ALONG = frozenset(("gather", "index_select", "narrow", "cumsum", "cumprod", "softmax", "log_softmax"))
# results that have as many dimensions as their arguments say
BY_DIMENSIONS = frozenset(("tensordot",))


def shape_of(value: Value | None) -> Shape:
    return value.shape if isinstance(value, Tensor) else None


def has_dimension(value: Value | None) -> bool:
    """Whether a value is known to be a tensor that has a dimension."""
    return shape_of(value) not in (None, SCALAR)


def result_shape(known: OpFacts, word: str, values: Arguments, single: bool) -> Shape:
    """The shape of what the operation `word` returns, where `single` says that it reduces to one element."""
    first = values[0] if values else None
    if known.keeps_shape:
        return first.shape if isinstance(first, Tensor) else None
    if single:
        return SCALAR if word not in BY_DIMENSIONS else None
    if word in ("view", "reshape"):
        return viewed(first, values[1:])
    if word == "squeeze":
        return SCALAR if shape_of(first) in (SCALAR, ONE) else None
    if word in ("unsqueeze", "flatten", "ravel"):
        one = ONE if shape_of(first) == SCALAR else VECTOR
        return OTHER if one == VECTOR and (word == "unsqueeze" or len(values) > 1) else one
    if word in ("view_as", "expand", "expand_as", "repeat", "t", "transpose", "permute"):
        return OTHER
    return None


def viewed(value: Value | None, sizes: Arguments) -> Shape:
    """`x.view(1)` says that x has one element, wherever it comes from; `x.view(-1)` keeps what is known."""
    if len(sizes) == 1 and isinstance(sizes[0], Sequence):
        sizes = sizes[0].items
    if len(sizes) != 1:
        return OTHER if sizes else SCALAR
    if not isinstance(sizes[0], Constant):
        return None  # it may be a whole shape
    keeps = sizes[0].value == -1 and shape_of(value) in (SCALAR, ONE)
    return ONE if sizes[0].value == 1 or keeps else VECTOR if type(sizes[0].value) is int else OTHER


def leaves_no_dimension(known: OpFacts, positional: Arguments, keywords: Keywords) -> bool:
    """Whether a reduction goes along the only dimension of its input: `v.sum(0)`."""
    if not known.along or not positional or shape_of(positional[0]) not in (ONE, VECTOR) or not keywords.keys() <= {"dim", "axis"}:
        return False
    along = [*positional[1:], *keywords.values()]
    return len(along) == 1 and isinstance(along[0], Constant) and type(along[0].value) is int


def names_second_dimension(known: OpFacts, word: str, positional: Arguments, keywords: Keywords) -> bool:
    """Whether an operation goes along a dimension that only tensors of two and more have: what it gives has one at least."""
    along = keywords.get("dim", keywords.get("axis"))
    if along is None and (known.along or word in ALONG) and len(positional) > 1:
        along = positional[1]
    return isinstance(along, Constant) and type(along.value) is int and not -1 <= along.value <= 0


def unreduced(known: OpFacts, values: Arguments, keywords: Keywords) -> ast.AST | None:
    """The call that made a loss for each sample, where the result of an operation on it still has one for each."""
    tensors = [value for value in values if isinstance(value, Tensor) and value.unreduced is not None]
    if not tensors or not known.elementwise and not keeps_first_dimension(known, values[1:], keywords):
        return None
    return tensors[0].unreduced


def keeps_first_dimension(known: OpFacts, given: Arguments, keywords: Keywords) -> bool:
    """Whether a reduction goes along another dimension than the first, as `loss.sum(1)` does."""
    along = keywords.get("dim", keywords.get("axis", given[0] if given else None))
    return known.along and isinstance(along, Constant) and type(along.value) is int and along.value > 0


def operator_shape(left: Value, right: Value) -> Shape:
    """The shape of `left op right`: that of the operand with more dimensions, as far as it is known which has them."""
    tensors = [value for value in (left, right) if value.may_be_tensor]
    shapes = [shape_of(value) for value in tensors]
    if None in shapes:
        return OTHER if OTHER in shapes else None
    return max(shapes, key=BY_DIMENSION.index, default=None)


def item_shape(value: Tensor, index: Value) -> Shape:
    """The shape of `value[index]`."""
    return SCALAR if value.shape in (ONE, VECTOR) and isinstance(index, Constant) and type(index.value) is int else None


def data_shape(value: Value | None) -> Shape:
    """The shape of `torch.tensor(value)`."""
    if isinstance(value, Constant) and isinstance(value.value, (int, float)):
        return SCALAR
    if isinstance(value, Sequence) and len(value.items) == 1 and not value.open:
        return ONE if isinstance(value.items[0], Constant) else None
    return shape_of(value)


def typed_shape(arguments: Arguments) -> Shape:
    """The shape of `torch.FloatTensor(...)`: numbers are sizes, a list is the content."""
    if len(arguments) == 1 and isinstance(arguments[0], Constant):
        return ONE if arguments[0].value == 1 else OTHER
    return data_shape(arguments[0]) if len(arguments) == 1 else OTHER if arguments else None


def sized(known: OpFacts, arguments: Arguments, keywords: Keywords) -> Shape:
    """The shape of `torch.zeros(...)`."""
    if not known.sized:
        return None
    return viewed(None, arguments) if arguments or "size" not in keywords else None

"""The ways in which a fault shows when a script runs: what rules declare of themselves, and `shown.py` looks for."""

from __future__ import annotations

import enum

from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Raises:
    """The script ends in an error whose message starts so; `title`: what it is called."""

    error: str
    message: str
    title: str = ""


@dataclass(frozen=True)
class Warns:
    """A warning that starts so; `title`: what it is about."""

    message: str
    title: str


class Count(enum.Enum):
    """What there is more of than in the repaired script."""

    LIVE = "nodes alive after each backward pass"
    SAVED = "saved tensors that are alive"
    MADE = "nodes that are made"
    WALKED = "nodes that backward passes use and free"
    UNWALKED = "losses without a backward(), for the parameters at the end"
    UNTRAINED = "parameters that get a gradient, and that no optimizer has"


Symptom = Raises | Warns | Count

GROWS, RETAINS, MAKES_MORE, WALKS_MORE, UNWALKED = Count.LIVE, Count.SAVED, Count.MADE, Count.WALKED, Count.UNWALKED
UNTRAINED = Count.UNTRAINED
SECOND_WALK = Raises("RuntimeError", "Trying to backward through the graph a second time", "second backward")
WRITTEN_IN_PLACE = Raises(
    "RuntimeError",
    "one of the variables needed for gradient computation has been modified by an inplace operation",
    "written in place",
)
NO_GRAPH = Raises("RuntimeError", "element 0 of tensors does not require grad and does not have a grad_fn", "no graph")
NOT_A_LEAF = Raises("ValueError", "can't optimize a non-leaf Tensor", "not a leaf")
COPIED = Raises("RuntimeError", "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol", "deep copy")
COMPILED = Raises("RuntimeError", "torch.compile with aot_autograd does not currently support double backward", "compiled twice")
NOT_SCALAR = Raises("RuntimeError", "grad can be implicitly created only for scalar outputs", "no scalar")
LEAF_IN_PLACE = Raises("RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation", "leaf written in place")
VIEW_OF_LEAF = Raises("RuntimeError", "a view of a leaf Variable that requires grad is being used in an in-place operation", "view of a leaf")
PART_IN_PLACE = Raises("RuntimeError", "This view is the output of a function that returns multiple views", "one of several views")
NOT_USED = Raises("RuntimeError", "The differentiated Tensor at index 0 appears to not have been used in the graph", "unused input")
NOT_REQUIRED = Raises("RuntimeError", "One of the differentiated Tensors does not require grad", "no gradient")
NO_ELEMENT = Raises("IndexError", "", "index of a 0-dim tensor")
OLD_ARGUMENT = Raises("TypeError", "Tensor.backward() got an unexpected keyword argument 'retain_variables'")
OLD_SHAPE = Raises("RuntimeError", "Mismatch in shape")
OLD_FLAG = Warns("volatile was removed and now has no effect", "volatile has no effect")
NO_LEAF = Warns("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed", "gradient of no leaf")
OLD_NUMBER = Warns(
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior", "number from a live tensor"
)

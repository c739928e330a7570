"""Which tensors an operation saves for its backward, and in-place writes to them: the version counters of tensors.

Only what is sure is noted: a saved tensor that is missed costs a finding, one that is made up would cost a false one.
See https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Sequence as Items

from graphfix.autograd.graph import Storage, Write
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Instance, Layer, Mapping, Sequence, Tensor, Value
from graphfix.models.table import OpFacts

# An input is saved for the gradient of the other one
CROSSWISE = frozenset("mul multiply dot matmul mm bmm mv outer linear __mul__ __rmul__ __matmul__".split())
# Both inputs are saved, whichever of them has a graph
TOGETHER = frozenset(
    "mse_loss smooth_l1_loss huber_loss binary_cross_entropy_with_logits maximum minimum max min MSELoss SmoothL1Loss HuberLoss "
    "BCEWithLogitsLoss".split()
)
# Views that never copy; what else the table calls a view may be the same memory or not
VIEWS = frozenset(
    "view view_as t T mT permute transpose swapaxes unsqueeze squeeze expand expand_as narrow select detach unfold diagonal "
    "__getitem__ movedim unflatten".split()
)
# Where `inplace` stands among the arguments of a layer
INPLACE_AT = {"ReLU": 0, "ReLU6": 0, "SiLU": 0, "Mish": 0, "Hardswish": 0, "Hardsigmoid": 0, "SELU": 0, "LeakyReLU": 1, "ELU": 1,
              "CELU": 1, "Dropout": 1, "Dropout1d": 1, "Dropout2d": 1, "Dropout3d": 1, "Threshold": 2, "Hardtanh": 2}  # fmt: skip
MAX_DEPTH = 3


def has_grad(value: Value) -> bool:
    return value.node is not None or (isinstance(value, Tensor) and value.leaf is not None and value.leaf.requires_grad)


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


def divided(left: Value, right: Value) -> Iterator[Value]:
    """What `left / right` saves: a number above is divided by means of the reciprocal, which saves its own result."""
    if isinstance(left, Tensor):
        yield right
        if has_grad(right):
            yield left


def keep(made: Tensor, tensors: Items[Tensor]) -> None:
    """The node of `made` saves `tensors`; leaves have a version of their own."""
    if made.node is not None:
        made.node.saved += tuple((t.storage, t.storage.version) for t in tensors if t.leaf is None)


def view(made: Tensor, of: Value, name: str) -> Tensor:
    """`made` is a view of a tensor: they share memory and version, or may do so."""
    if isinstance(of, Tensor):
        if name.rsplit(".", 1)[-1] in VIEWS:
            made.storage = of.storage
        else:
            made.storage.near = of.storage
    return made


def overwrite(m: Interpreter, tensor: Tensor, site: ast.AST, target: ast.AST | None, layer: object = None) -> None:
    """`tensor` is written to in place."""
    storage = tensor.storage
    others = tuple(dict.fromkeys(m.names_of(storage, rebound(m.frame.statement, target), holds)))
    storage.writes.append(Write(site, m.trace(), m.now(), target, others, layer))
    storage.version += 1
    m.recording.writes.append(storage.writes[-1])


def rebound(statement: ast.stmt | None, target: ast.AST | None) -> set[str] | None:
    """The names that hold the new content once the statement is over, None for all names of the call: it ends here."""
    if isinstance(statement, ast.Return):
        return None
    targets: list[ast.AST] = []
    if isinstance(statement, ast.Expr) and isinstance(target, ast.expr):
        targets = [target]  # `x.relu_()` becomes `x = x.relu()`
    elif isinstance(statement, ast.Assign):
        targets = list(statement.targets)
    elif isinstance(statement, ast.AugAssign):
        targets = [statement.target]
    names = {part.value if isinstance(part, ast.Subscript) else part for part in targets}
    return {ast.unparse(name) for name in names}


def holds(value: Value, storage: Storage, depth: int = MAX_DEPTH) -> bool:
    """Whether a value, or what it holds, is or may be the memory of `storage`."""
    if isinstance(value, Tensor):
        return root(value.storage) is root(storage)
    if depth and isinstance(value, (Sequence, Mapping, Instance, Layer)):
        inner: list[Value] = []
        if isinstance(value, Sequence):
            inner = value.items
        elif isinstance(value, Mapping):
            inner = [*value.items.values(), *value.rest]
        else:
            inner = list(value.attributes.values())
        return any(holds(item, storage, depth - 1) for item in inner)
    return False


def root(storage: Storage) -> Storage:
    while storage.near is not None:
        storage = storage.near
    return storage

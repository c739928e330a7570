"""The memory of tensors: what shares it, what a graph has saved of it, and in-place writes to it.

Only what is sure is noted: a saved tensor that is missed costs a finding, one that is made up would cost a false one.
See https://pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
"""

from __future__ import annotations

import ast
from collections.abc import Sequence as Items

from graphfix.autograd.graph import Storage, Write
from graphfix.effects.table import facts
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import LeafWrite
from graphfix.interpreter.values import Tensor, TorchModule, Value

MAX_DEPTH = 3


def has_grad(value: Value) -> bool:
    return value.node is not None or (isinstance(value, Tensor) and value.leaf is not None and value.leaf.requires_grad)


def keep(made: Tensor, tensors: Items[Tensor]) -> None:
    """The node of `made` saves `tensors`; leaves have a version of their own."""
    if made.node is not None:
        for tensor in tensors:
            if tensor.leaf is None:
                made.node.save(tensor.storage)


def view(made: Tensor, of: Value, name: str) -> Tensor:
    """`made` is a view of a tensor: they share memory and version, or may do so."""
    if isinstance(of, Tensor):
        if of.leaf is not None:
            of.storage.leaf = of.leaf
        known = facts(f"torch.Tensor.{name.rsplit('.', 1)[-1]}")
        if known is not None and known.alias == "view" and not known.copies:
            made.storage = of.storage
        else:
            made.storage.near = of.storage
    return made


def note_leaf_write(m: Interpreter, tensor: Tensor, site: ast.AST, target: ast.AST | None, value: Value | None = None) -> None:
    """Note a write in place to a leaf that requires grad, or to a view of one, which torch refuses while it records.

    `value`: what is added to it. https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
    """
    leaf = tensor.leaf if tensor.leaf is not None else tensor.storage.leaf if tensor.node is not None else None
    if m.grad_enabled and leaf is not None and leaf.requires_grad and not tensor.is_data:
        is_total = value is not None and value.node is not None and tensor.leaf is not None
        m.recording.leaf_writes.append(LeafWrite(site, m.trace(), leaf, target, tensor.node, is_total))


def overwrite(m: Interpreter, tensor: Tensor, site: ast.AST, target: ast.AST | None, layer: object = None) -> None:
    """`tensor` is written to in place."""
    storage = tensor.storage
    others: tuple[str, ...] = ()
    if storage.root.is_saved:  # else nobody asks who knows the old content
        passed: set[int] = set()
        names = m.names_of(rebound(m.frame.statement, target), lambda value: holds(value, storage, passed))
        others = tuple(dict.fromkeys(names))
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


def holds(value: Value, storage: Storage, passed: set[int]) -> bool:
    """Whether a value, or what it holds, is or may be the memory of `storage`.

    `passed`: what was looked through before, each with the depth that was left, and is not; added to where this value is not, either.
    """
    wanted = storage.root
    pending = [(value, MAX_DEPTH)]
    seen: set[int] = set()
    while pending:
        item, left = pending.pop()
        if isinstance(item, Tensor):
            if item.storage.root is wanted:
                return True
        elif left and (key := id(item) << 2 | left) not in seen and key not in passed:
            seen.add(key)
            inner = item.attributes.values() if isinstance(item, TorchModule) else item.members(attributes=True)
            if left > 1:
                pending += [(each, left - 1) for each in inner if not each.is_plain]
                continue
            for each in inner:
                if isinstance(each, Tensor) and each.storage.root is wanted:
                    return True
    passed |= seen
    return False

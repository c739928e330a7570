"""Where values have lost their graph: for a backward pass that finds none to go through."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from graphfix.autograd.graph import Node
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.recording import Bare
from graphfix.interpreter.values import NonTensor, Sequence, Tensor, Value

if TYPE_CHECKING:
    from graphfix.interpreter.interpreter import Interpreter


def severed(m: Interpreter, site: ast.AST, values: Iterable[Value]) -> Severed | None:
    """Where the graph of what is made of `values` at `site`, and has none, was lost; None where nothing shows that there was one."""
    given = [each for value in values for each in (value, *(value.items if isinstance(value, Sequence) else ()))]
    how = How.CONSTANT if m.grad_enabled else How.UNRECORDED
    if not m.grad_enabled:
        for leaf in (value.leaf for value in given if isinstance(value, Tensor)):
            if leaf is not None and leaf.requires_grad and leaf not in m.recording.unrecorded:
                m.recording.unrecorded[leaf] = Severed(site, how, leaves=(leaf,), trace=m.trace())
    if any(map(has_graph, given)):
        if not m.grad_enabled and m.switched_off_at is not None:
            return Severed(m.switched_off_at, How.SWITCHED_OFF, nodes_of(given))
        leaves = tuple(value.leaf for value in given if isinstance(value, Tensor) and value.leaf is not None)
        return Severed(site, how, nodes_of(given), leaves=leaves, trace=m.trace())
    read = [value.source for value in given if isinstance(value, NonTensor) and value.source is not None]
    if any(map(has_graph, read)):
        return Severed(site, How.COPIED, nodes_of(read))
    tensors = [value for value in given if isinstance(value, Tensor)]
    earlier = next((value.severed for value in tensors if value.severed is not None), None)
    frozen = (value.leaf for value in tensors if value.leaf is not None and not value.leaf.requires_grad)
    leaf = next((each for each in frozen if each.frozen_at is not None), None)
    if earlier is not None or leaf is None or leaf.frozen_at is None:
        return earlier
    return Severed(leaf.frozen_at, How.FROZEN, leaf=leaf)


def note_bare(m: Interpreter, site: ast.Call, roots: list[Value], receiver: ast.expr | None) -> None:
    """Take note of a backward pass that finds no graph: one that raises, or begins at what was told to require grad after it had lost its own."""
    tensors = [root for root in roots if isinstance(root, Tensor)]
    if len(tensors) < len(roots) or any(root.leaf is not None and root.severed is None for root in tensors):
        return
    leaf = next((root.leaf for root in tensors if root.leaf is not None), None)
    if leaf is None:
        m.recording.empty.append(site)
    lost = next((root.severed for root in tensors), None)
    m.recording.bare.append(Bare(site, m.trace(), lost, receiver, leaf.site if leaf is not None else None))


def nodes_of(values: Iterable[Value]) -> tuple[Node, ...]:
    """The nodes of values."""
    return tuple(value.node for value in values if value.node is not None)


def has_graph(value: Value) -> bool:
    """Whether a value surely has a graph, or is a parameter."""
    if isinstance(value, Tensor) and value.leaf is not None:
        return value.leaf.requires_grad
    return value.node is not None and value.node.certain

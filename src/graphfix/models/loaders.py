"""Data sets that hold tensors with a graph, and loaders over them: each batch goes on with that graph.

Without a graph a loader gives data, which no model tells of. https://docs.pytorch.org/docs/stable/data.html
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.iteration import iterate
from graphfix.interpreter.values import NONE, Arguments, Function, Keywords, Mapping, Sequence, Tensor, Value, nodes_in
from graphfix.models.registry import models

BATCHES = 2  # of which more like them follow


def holds_graph(m: Interpreter, value: Value) -> bool:
    """Whether what a data set gives has surely a graph."""
    return any(map(m.recording.is_graph, nodes_in(value, attributes=True)))


@models("torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset")
def tensor_data(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """The rows of tensors, in tuples."""
    if not any(holds_graph(m, each) for each in arguments):
        return None
    rows = [iterate(m, each, site)[:BATCHES] for each in arguments]
    return Sequence("list", [Sequence("tuple", list(row)) for row in zip(*rows)], True)


@models("torch.utils.data.Subset", "torch.utils.data.dataset.Subset")
def part_of_data(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """Items of a data set."""
    return arguments[0] if arguments and holds_graph(m, arguments[0]) else None


@models("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
def loader(m: Interpreter, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value | None:
    """Batches of the items of a data set: what `collate_fn` makes of them, or else each tensor in them, stacked."""
    data = arguments[0] if arguments else keywords.get("dataset", NONE)
    if not holds_graph(m, data):
        return None
    collate = keywords.get("collate_fn")
    batches = []
    for item in iterate(m, data, site)[:BATCHES]:
        whole = Sequence("list", [item], True)
        batches.append(m.call(collate, [whole], {}, site) if isinstance(collate, Function) else stacked(m, item, site))
    return Sequence("list", batches, True)


def stacked(m: Interpreter, item: Value, site: ast.AST) -> Value:
    """A batch of items like this one."""
    if isinstance(item, Tensor):
        return Tensor(m.record(site, [item], False))
    if isinstance(item, Sequence):
        return Sequence(item.kind, [stacked(m, each, site) for each in item.items])
    if isinstance(item, Mapping):
        return Mapping({key: stacked(m, each, site) for key, each in item.items.items()})
    return item

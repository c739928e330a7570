"""What a module has registered: the layers and parameters that its `parameters()` gives, and those that a plain list keeps from it.

https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.autograd.graph import Leaf
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Unregistered
from graphfix.interpreter.values import (
    Arguments,
    Instance,
    Mapping,
    Parameters,
    Sequence,
    Tensor,
    TorchModule,
    Value,
    leaves_in,
)
from graphfix.models.submodules import is_module


def note_optimizer(m: Interpreter, parameters: Arguments, site: ast.AST) -> None:
    """Note what an optimizer is given, and the layers that the modules whose parameters these are have not registered."""
    note_reached(m, parameters)
    for module in (each for owner in owners_in(parameters) for each in modules_in(owner) if isinstance(each, Instance)):
        for name, held in module.attributes.items():
            parts = list(held.members()) if isinstance(held, (Sequence, Mapping)) else []
            if parts and all(map(is_module, parts)):
                leaves = frozenset(leaf for part in parts for inner in modules_in(part) for leaf in own_leaves(inner))
                m.recording.unregistered.append(Unregistered(site, m.trace(), module, name, leaves))


def note_reached(m: Interpreter, values: Iterable[Value]) -> None:
    """Note the parameters of modules, and the tensors, that the program asks for: whoever gets them may train them."""
    m.recording.reached.update(reached(values))


def reached(values: Iterable[Value]) -> Iterator[Leaf]:
    """The parameters that whoever has these values can train."""
    for owner in owners_in(values):
        yield from leaves_in(owner) if isinstance(owner, Tensor) else ()
        yield from (leaf for module in modules_in(owner) for leaf in own_leaves(module))


def owners_in(values: Iterable[Value], depth: int = 4) -> Iterator[Value]:
    """The modules among values, or whose parameters these are, and the tensors."""
    for value in values:
        if isinstance(value, Parameters):
            yield from value.owners
        elif isinstance(value, (Sequence, Mapping)) and depth:
            yield from owners_in(value.members(), depth - 1)
        elif isinstance(value, Tensor) or is_module(value):
            yield value


def modules_in(module: Value) -> Iterator[Value]:
    """A module and all that are registered below it, each once."""
    seen: set[int] = set()
    pending = [module]
    while pending:
        part = pending.pop()
        if is_module(part) and id(part) not in seen:
            seen.add(id(part))
            yield part
            if isinstance(part, TorchModule):
                pending.extend((*(part.children or ()), *part.names.values(), *part.attributes.values()))
            elif isinstance(part, Instance):
                pending.extend(part.attributes.values())


def own_leaves(module: Value) -> Iterator[Leaf]:
    """The parameters of a module itself."""
    held = module.attributes.values() if isinstance(module, (TorchModule, Instance)) else ()
    children = module.children or () if isinstance(module, TorchModule) else ()
    if isinstance(module, TorchModule) and module.leaf is not None:
        yield module.leaf
    yield from (part.leaf for part in (*held, *children) if isinstance(part, Tensor) and part.leaf is not None)

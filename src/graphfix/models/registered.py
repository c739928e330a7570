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


def note_given(m: Interpreter, parameters: Arguments, site: ast.AST) -> None:
    """Note what an optimizer is given, and the layers that the modules whose parameters these are have not registered."""
    for owner in owners_in(parameters):
        if isinstance(owner, Tensor):
            m.recording.given_leaves.update(leaves_in(owner))
            continue
        modules = list(modules_in(owner))
        m.recording.given_leaves.update(leaf for module in modules for leaf in own_leaves(module))
        for module in modules:
            for name, held in module.attributes.items() if isinstance(module, Instance) else ():
                parts = list(held.members()) if isinstance(held, (Sequence, Mapping)) else []
                if parts and all(map(is_module, parts)):
                    leaves = frozenset(leaf for part in parts for inner in modules_in(part) for leaf in own_leaves(inner))
                    m.recording.unregistered.append(Unregistered(site, m.trace(), module, name, leaves))  # type: ignore[arg-type]


def owners_in(values: Iterable[Value], depth: int = 4) -> Iterator[Value]:
    """The modules whose parameters are given, and the tensors that are given themselves."""
    for value in values:
        if isinstance(value, Parameters):
            yield from value.owners
        elif isinstance(value, (Sequence, Mapping)) and depth:
            yield from owners_in(value.members(), depth - 1)
        elif isinstance(value, Tensor):
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

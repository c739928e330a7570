"""What copies of an object, and weak references to it, are."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Copied, Held
from graphfix.interpreter.values import (
    NONE,
    External,
    Instance,
    Mapping,
    NonTensor,
    Partial,
    Sequence,
    Tensor,
    TorchModule,
    Value,
    leaves_in,
    nodes_in,
)
from graphfix.models.modules import copy_module
from graphfix.models.registry import models

# methods by which a class says itself what a copy of its objects is: https://docs.python.org/3/library/copy.html
COPY_METHODS = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__")
# modules whose children are read by an index
INDEXED = ("Sequential", "ModuleList")


@models(
    "copy.deepcopy",
)
def copied_deeply(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """torch refuses to copy tensors that are no leaves: what a copy holds has no graph.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.html: only tensors created explicitly by the user support it.
    """
    value = arguments[0] if arguments else NONE
    held = tuple(graphs_held(value))
    if held and isinstance(site, ast.Call):
        m.recording.copies.append(Copied(site, m.trace(), m.now(), value, held))
    if nodes_in(value, attributes=False):
        return NonTensor(("copy", site, m.now()))
    return copied(m, arguments, keywords, site)


@models("weakref.ref")
def weak_reference(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    """What gives its object when it is called: as long as that lives, which is not simulated."""
    return Partial(External("weakref.proxy"), arguments[:1], {}) if arguments else None


@models("weakref.proxy")
def weak_proxy(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    return arguments[0] if arguments else None


@models(
    "copy.copy",
)
def copied(m: Interpreter, arguments: list[Value], keywords: dict[str, Value], site: ast.AST) -> Value | None:
    value = arguments[0] if arguments else NONE
    if isinstance(value, (TorchModule, Instance)):
        made = copy_module(value, {})
        for leaf in leaves_in(made):
            leaf.copied_at = site
        return made
    return value.copied()


def graphs_held(value: Value) -> Iterator[Held]:
    """The tensors with a graph that a deep copy of a value comes to, with the path that leads to each."""
    seen: set[int] = set()
    pending: list[tuple[Value, str | None, str | None]] = [(value, "", None)]
    while pending:
        part, path, within = pending.pop()
        if isinstance(part, Tensor):
            if part.node is not None:
                yield Held(part.node, part, path, within)
        elif id(part) not in seen:
            seen.add(id(part))
            holder = path if isinstance(part, (Mapping, Sequence)) and part.is_a("tuple") is not True else None
            inner = ((each, None if path is None or step is None else path + step, holder) for each, step in copied_parts(part))
            pending.extend(reversed(list(inner)))


def copied_parts(value: Value) -> Iterator[tuple[Value, str | None]]:
    """What a deep copy of an object copies of it, and how each part is read."""
    if isinstance(value, Instance):
        if not any(value.cls.find(name) for name in COPY_METHODS):
            yield from ((each, f".{name}") for name, each in value.attributes.items())
    elif isinstance(value, Sequence):
        yield from ((each, f"[{index}]" if not value.open else None) for index, each in enumerate(value.items))
    elif isinstance(value, Mapping):
        keys = (f"[{key!r}]" if isinstance(key, (str, int)) else None for key in value.items)
        yield from zip(value.items.values(), keys)
        yield from ((each, None) for each in value.rest)
    elif isinstance(value, TorchModule):
        indexed = value.kind.rpartition(".")[2] in INDEXED
        yield from ((each, f"[{index}]" if indexed else None) for index, each in enumerate(value.children or []))
        yield from ((each, f".{name}") for name, each in (*value.names.items(), *value.attributes.items()))

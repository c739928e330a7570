"""The graphs and leaves that values reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphfix.autograd.graph import Leaf, Node, history
from graphfix.interpreter.values.code import Instance
from graphfix.interpreter.values.containers import Mapping, Sequence
from graphfix.interpreter.values.data import Tensor
from graphfix.interpreter.values.torch import Parameters, ParametersForm
from graphfix.interpreter.values.value import Value

Arguments = list[Value]
Keywords = dict[str, Value]


class OpenKeywords(Keywords):
    """Keywords of a call that `**rest` may give more of."""

    def __init__(self, known: Keywords, rest: Value) -> None:
        super().__init__(known)
        self.rest = rest


def given(arguments: Arguments, keywords: Keywords) -> Arguments:
    """All that a call is given."""
    rest = [keywords.rest] if isinstance(keywords, OpenKeywords) else []
    return [*arguments, *keywords.values(), *rest]


def identities(values: Iterable[Value]) -> list[object]:
    """The identity of each."""
    return [value.identity for value in values]


def nodes_in(value: Value, attributes: bool = True, depth: int = 6, modules: bool = True) -> list[Node]:
    """The graph nodes that `value` and what it holds refer to, each once. `modules`: also those that modules hold."""
    if not isinstance(value, (Sequence, Mapping, Instance)):
        return [value.node] if value.node is not None else []
    found: dict[Node, None] = {}
    seen: set[int] = set()
    stack = [(value, depth)]
    while stack:
        item, left = stack.pop()
        if item.node is not None:
            found[item.node] = None
        if isinstance(item, Instance) and not modules and item.is_module():
            continue
        if left and isinstance(item, (Sequence, Mapping, Instance)) and id(item) not in seen:
            seen.add(id(item))
            stack += [(member, left - 1) for member in item.members(attributes) if not member.is_plain]
    return list(found)


def held_leaves(value: Value, depth: int = 3) -> Iterator[Leaf]:
    """The leaf tensors that a container holds, as in `torch.stack([w, b])`; not those of modules."""
    for member in value.members() if depth else ():
        if isinstance(member, Tensor):
            if member.leaf is not None and member.node is None:
                yield member.leaf
        elif isinstance(member, (Sequence, Mapping)):
            yield from held_leaves(member, depth - 1)


def leaves_in(value: Value) -> Iterator[Leaf]:
    """The leaf tensors (parameters) that a module, optimizer argument or container reaches."""
    return (part.leaf for part in all_parts(value) if part.leaf is not None)


def all_parts(value: Value) -> Iterator[Value]:
    """The value and all that it is made of, each once: the layers of a module, the owners of parameters, what lists hold."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        part = pending.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            pending.extend(reversed(list(part.parts())))


def note_copied(target: Value, source: Value) -> None:
    """Parameters that are given the content of others are copies of these, as those of a target network are."""
    own = [leaf for owner in (target.owners if isinstance(target, Parameters) else [target]) for leaf in leaves_in(owner)]
    owners = source.owners if isinstance(source, Parameters) else [source]
    below = [leaf for node in history([source.node] if source.node is not None else []) for leaf in node.leaves]
    others = [
        leaf for leaf in dict.fromkeys([*(leaf for owner in owners for leaf in leaves_in(owner)), *below]) if leaf not in own
    ]
    for index, leaf in enumerate(own if others else ()):
        other = others[index] if len(others) == len(own) else others[0]
        leaf.origin = other.origin or other


def content_of_parameters(values: Arguments) -> Parameters | None:
    """What is computed from the content of parameters alone: an average of two networks, for one."""
    contents = [each for each in values if isinstance(each, Parameters) and each.form is ParametersForm.DATA]
    others = [each for each in values if each not in contents]
    if not contents or any(isinstance(each, (Parameters, Tensor)) or each.node is not None for each in others):
        return None
    owners = [owner for each in contents for owner in each.owners]
    return Parameters(owners, ParametersForm.DATA, any(each.some for each in contents), contents[0].cut_at)

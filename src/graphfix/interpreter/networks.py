"""Networks that a library has built: what they give has a graph, as long as nobody may have told their parameters otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.interpreter.interning import Key, interned, kind_of
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Unknown, Value
from graphfix.source.subtree import kept_with_node, subtree

# how what is taken out of a network is named: its key is the second part
PARTS = frozenset(
    ("attribute", "item", "slice", "list", "children", "named_children", "modules", "named_modules", "items", "values")
)
MOST_PARTS = 12  # one in another


def note_network(m: Interpreter, network: Unknown) -> None:
    """All parameters of `network` need a gradient, unless the program may say otherwise, be it in code that this run does not come to."""
    m.recording.modules.add(network.key)
    if not any(tells_off(frame.env.top().document.tree) for frame in m.frames):
        m.recording.networks.add(network.key)


@kept_with_node
def tells_off(tree: ast.Module) -> bool:
    """Whether a file tells anything to need no gradient."""
    return any(map(is_told_off, subtree(tree)))


def is_told_off(part: ast.AST) -> bool:
    """Whether a statement or expression says of something whether it needs a gradient, and does not surely say yes."""
    if isinstance(part, ast.Assign):
        named = any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in part.targets)
        return named and not is_yes(part.value)
    is_call = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "requires_grad_"
    return is_call and not all(map(is_yes, (*part.args, *(keyword.value for keyword in part.keywords))))  # type: ignore[union-attr]


def is_yes(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def records(m: Interpreter, callee: Value) -> bool:
    """Whether `callee` is such a network, or a module out of one, of which no parameter has been told to need no gradient."""
    networks = m.recording.networks
    if not networks or not isinstance(callee, Unknown) or callee.node is not None:
        return False
    whole = next((key for key in wholes(callee.key) if key in networks), None)
    return whole is not None and not any(whole in wholes(key) for key in m.recording.frozen)


def hand_over(m: Interpreter, values: Iterable[Value]) -> None:
    """Code that is not in sight gets these values, and may do with the networks among them what it likes."""
    if m.recording.networks:
        for value in values:
            if isinstance(value, Unknown):
                m.recording.networks.difference_update(wholes(value.key))


def wholes(key: object) -> Iterator[object]:
    """The key, and those of what it was taken out of, step by step."""
    key = interned(key)
    for _ in range(MOST_PARTS):
        yield key
        if not isinstance(key, Key) or kind_of(key) not in PARTS or len(key.parts) < 2:
            return
        key = key.parts[1]

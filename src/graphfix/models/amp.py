"""Scalers of losses: `torch.amp.GradScaler`, and what does as it does.

https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling
"""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.shapes import shape_of
from graphfix.interpreter.values import NONE, Arguments, Keywords, Tensor, Unknown, Value
from graphfix.source.subtree import kept_with_node, subtree

# what a training loop asks of a scaler, and of nothing else
PROTOCOL = frozenset(("scale", "step", "update"))


def scaler_method(m: Interpreter, receiver: Unknown, name: str, arguments: Arguments, keywords: Keywords, site: ast.AST) -> Value:
    """`torch.amp.GradScaler`."""
    if name == "scale" and arguments:
        value = arguments[0]
        if isinstance(value, Unknown) and value.node is None:
            return Unknown(("scaled", value.key)).computed_from(value, site)
        return Tensor(m.record(site, [value], True), single=value.single, shape=shape_of(value))
    if name == "step" and arguments:
        return m.call_method(arguments[0], "step", arguments[1:], keywords, site)
    return NONE


def acts_as_scaler(m: Interpreter, site: ast.AST) -> bool:
    """Whether a method is called of something that the file uses as a scaler of losses, wherever it comes from."""
    function = site.func if isinstance(site, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr not in PROTOCOL | {"unscale_"}:
        return False
    return ast.unparse(function.value) in scalers(m.frame.env.top().document.tree)


@kept_with_node
def scalers(tree: ast.Module) -> frozenset[str]:
    """The expressions of which a file calls `scale(loss)`, `step(optimizer)` and `update()`."""
    asked: dict[str, set[str]] = {}
    for part in subtree(tree):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in PROTOCOL:
            if bool(part.args) is (part.func.attr != "update"):
                asked.setdefault(ast.unparse(part.func.value), set()).add(part.func.attr)
    return frozenset(text for text, methods in asked.items() if methods >= PROTOCOL)

"""Where a program takes gradients into its own hands: a step that no optimizer makes may be made with them."""

from __future__ import annotations

import ast

from graphfix.source.document import Document
from graphfix.source.spelling import word
from graphfix.source.subtree import kept_with_node, subtree


def reads_gradients(document: Document, clipping: bool = True) -> bool:
    """Whether a file reads a `.grad`, by whatever way. `clipping`: whether to clip one in place is to read it."""
    return any(clipping or not is_clipped(part, document) for part in gradients_in(document.tree))


@kept_with_node
def gradients_in(tree: ast.Module) -> tuple[ast.expr, ...]:
    """The places of a file that may read a gradient."""
    return tuple(
        part
        for part in subtree(tree)
        if isinstance(part, ast.Call)
        and word(part.func) == "getattr"
        and any(map(may_be_gradient, part.args[1:2]))
        or isinstance(part, ast.Attribute)
        and part.attr == "grad"
        and ast.unparse(part.value) not in ("torch.autograd", "autograd")
    )


def may_be_gradient(name: ast.expr) -> bool:
    """Whether an attribute of this name may be the gradient."""
    return not isinstance(name, ast.Constant) or name.value == "grad"


def is_clipped(gradient: ast.AST, document: Document) -> bool:
    """Whether nothing but a method that writes in place is called on a gradient, as in `p.grad.data.clamp_(-1, 1)`."""
    used = document.parents.get(gradient)
    if isinstance(used, ast.Attribute) and used.attr == "data":
        used = document.parents.get(used)
    called = document.parents.get(used) if used is not None else None
    statement = document.parents.get(called) if called is not None else None
    return (
        isinstance(used, ast.Attribute)
        and used.attr.endswith("_")
        and isinstance(called, ast.Call)
        and isinstance(statement, ast.Expr)
    )

"""What raises for a tensor that has a graph alone: where the code swallows that, a fix that ends the graph changes what it does."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Reach, Use
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.effects.rows import row_of
from graphfix.models.words import INITIALISERS
from graphfix.obligations.inquiry import Open

# https://docs.pytorch.org/docs/stable/tensors.html
METHODS = frozenset("numpy resize_ resize_as_ requires_grad requires_grad_ set_".split())
COPIES = "copy.deepcopy"


def refused(flow: Flow, reach: Reach) -> Iterator[Open]:
    """The places that raise for what `reach` says of while it has a graph, and swallow that."""
    uses = dict.fromkeys(use for place, _ in reach.places for use in flow.graph.uses.get(place, ()))
    for use in uses:
        if refuses(use) and swallowed(flow, use.site):
            yield Open(use.site, "raises on a tensor that has a graph")


def refuses(use: Use) -> bool:
    """Whether a use of a tensor raises if that has a graph."""
    if use.how == "attribute":
        return use.name in METHODS
    return use.how == "argument" and (takes_no_graph(use.name) or isinstance(use.site, ast.Call) and is_told_where(use.site))


def takes_no_graph(dotted: str) -> bool:
    """Whether a function copies the object, or makes an array of it, as those of other libraries than torch do that give no tensor.

    An array is made by `Tensor.__array__`, which refuses a graph.
    """
    root, _, inner = dotted.partition(".")
    row = row_of(dotted) if inner and root != "torch" and root not in sys.stdlib_module_names else None
    return dotted == COPIES or row is not None and row.gives_no_graph


def is_told_where(call: ast.Call) -> bool:
    """Whether an operation is told what to put its result into: https://docs.pytorch.org/docs/stable/notes/autograd.html."""
    return any(keyword.arg == "out" for keyword in call.keywords)


def refuses_graphs(flow: Flow, part: ast.AST) -> bool:
    """Whether autograd may raise here where it records: a write in place to a leaf, or an array of what requires grad.

    The functions of `torch.nn.init` record nothing: https://pytorch.org/docs/stable/nn.init.html.
    """
    if isinstance(part, ast.Call):
        refuses = is_told_where(part) or takes_no_graph(flow.code.calls.get(part, ""))
        return refuses and any(each in flow.recorded_of_leaves for each in arguments(part))
    if isinstance(part, ast.AugAssign):
        taken: ast.expr = part.target
    elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
        taken = part.value
    elif isinstance(part, ast.Attribute):
        writes = part.attr.endswith("_") and not part.attr.endswith("__")
        if not (writes or part.attr == "numpy") or part.attr in INITIALISERS and flow.code.dotted_in(part):
            return False
        taken = part.value
    else:
        return False
    return not flow.is_graphless(taken)

"""The texts that an expression may give, where it is put together of constants."""

from __future__ import annotations

import ast

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Place

MOST_TEXTS = 50  # of one expression
DEPTH = 4


def texts_of(flow: Flow, expression: Place, depth: int = DEPTH) -> set[str] | None:
    """All texts that an expression may give; None where that is not known."""
    found: set[str] = set()
    for source in flow.graph.sources(expression):
        if isinstance(source, ast.Constant):
            found.add(str(source.value))
        elif isinstance(source, ast.BinOp) and isinstance(source.op, ast.Add) and depth:
            sides = texts_of(flow, source.left, depth - 1), texts_of(flow, source.right, depth - 1)
            if sides[0] is None or sides[1] is None:
                return None
            found |= {f"{left}{right}" for left in sides[0] for right in sides[1]}
        else:
            return None
    return found if 0 < len(found) <= MOST_TEXTS else None

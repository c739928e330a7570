"""The calls by which one function leads to two backward passes over one graph."""

from __future__ import annotations

import ast

from graphfix.analysis.second_backward import SecondBackward


def calls_of(walk: SecondBackward) -> tuple[ast.AST, ast.AST]:
    """The statements by which one function leads to the walk that frees and to the one that comes again."""
    for (one, first), (two, second) in zip(walk.freed_by.trace, walk.walk.trace):
        if one is not two:
            break
        if first is not second:
            return first, second
    return walk.freed_by.site, walk.walk.site


def callers_of(walk: SecondBackward) -> tuple[ast.stmt, ast.stmt] | None:
    """The statements that call the function in which both walks are; None where they are two, or one statement calls it in turns."""
    traces = walk.freed_by.trace, walk.walk.trace
    if walk.walk.site is not walk.freed_by.site or walk.loop is not None or min(map(len, traces)) < 2:
        return None
    first, second = (trace[-2][1] for trace in traces)
    return (first, second) if first is not second else None

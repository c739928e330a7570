"""Where values go in a call of a method of which only the project's settings say what it does."""

from __future__ import annotations

import ast

from graphfix.analysis.flow import library
from graphfix.analysis.flow.expressions import arguments
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Kind, Sink
from graphfix.effects.project_rows import added_methods
from graphfix.effects.rows import Observes, Puts, Returns, Row

# how what a method is given gets into what it gives; what is not listed is computed from it
KINDS = {
    Returns.NUMBER: (),
    Returns.ITSELF: (),
    Returns.ELEMENT: (Kind.SAME, Kind.OUT),
    Returns.CONTENTS: (Kind.SPREAD,),
    Returns.PAIRS: (Kind.WRAPPED,),
    Returns.MAPPING: (Kind.IN,),
    Returns.COPY: (Kind.SAME, Kind.SPREAD),
    Returns.SEVERAL: (Kind.DRAWN, Kind.IN),
}


def linked_by_rows(flow: FlowGraph, unknown: dict[ast.Call, None], call: ast.Call, receiver: ast.expr) -> bool:
    """Link a method call by the project's rows; False where it may be something else as well.

    `unknown` takes the call where a row says that it keeps what it is given, or calls it.
    """
    name = call.func.attr  # type: ignore[attr-defined]
    rows = added_methods(name)
    if any(row.keeps or row.calls for row in rows):
        unknown[call] = None
    for row in rows:
        _put(flow, row, call, receiver)
        if row.observes is Observes.GRAPH:
            for each in (receiver, *arguments(call)):
                flow.end(each, Sink.ASKED, call)
    if library.is_tensor_method(name) or name in library.COMMON:
        return False
    for row in rows:
        _give(flow, row, call, receiver)
    return True


def _put(flow: FlowGraph, row: Row, call: ast.Call, receiver: ast.expr) -> None:
    for argument in arguments(call) if row.puts is not Puts.NOTHING else ():
        flow.add(argument, receiver, Kind.POURED if row.puts is Puts.CONTENTS else Kind.IN)


def _give(flow: FlowGraph, row: Row, call: ast.Call, receiver: ast.expr) -> None:
    if row.returns is Returns.ITSELF:
        flow.add(receiver, call, Kind.SAME)
    for given in (*(() if row.of_arguments else (receiver,)), *arguments(call)):
        for kind in KINDS.get(row.returns, (Kind.MADE,)):
            flow.add(given, call, kind)

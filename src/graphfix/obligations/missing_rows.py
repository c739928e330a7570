"""The rows by which settings could say what a call does that leaves an obligation open."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Sink
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Returns, Row
from graphfix.effects.spelling import as_file, table_of
from graphfix.obligations.inquiry import Open

KNOWN = ("torch", "builtins")  # graphfix knows that these keep what they are given


def missing_rows(flow: Flow, opened: Iterable[Open]) -> tuple[str, ...]:
    """The tables, one for each function that is called: only where its full name is known, and no code of it is in sight."""
    return tuple(dict.fromkeys(as_file(table_of(row)) for each in opened for row in _missing(flow, each)))


def _missing(flow: Flow, each: Open) -> Iterator[Row]:
    call = each.site
    if not isinstance(call, ast.Call) or not each.reason.startswith(Sink.ESCAPES.value) or call in flow.calls.targets:
        return
    name, of_class = flow.code.calls.get(call, ""), ""
    if not name and isinstance(call.func, ast.Attribute):
        of_class = _class_of(flow, call.func.value)
        name = of_class and f"{of_class}.{call.func.attr}"
    # a name that one of several libraries may bring is spelled with a bar
    if "." in name and "|" not in name and name.split(".")[0] not in KNOWN and row_of(name) is None:
        # of a value that is used, nobody but the user knows what it is: that it has a graph is the careful answer
        unused = any(isinstance(document.parents.get(call), ast.Expr) for document in flow.code.documents.values())
        yield Row(name, Returns.NUMBER if unused else Returns.MADE, of_class=of_class)


def _class_of(flow: Flow, receiver: ast.expr) -> str:
    """The class of a library that made an object, where all that it may be is made by that; empty where that is not known."""
    made_by = {
        flow.code.calls.get(source, "") if isinstance(source, ast.Call) else "" for source in flow.graph.sources(receiver)
    }
    name = made_by.pop() if len(made_by) == 1 else ""
    return name if name.rpartition(".")[2][:1].isupper() else ""

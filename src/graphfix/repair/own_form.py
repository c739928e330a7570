"""The function by which the project itself cuts a state: `hidden = repackage_hidden(hidden)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.effects.methods import rows_of_method
from graphfix.effects.rows import row_of
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

CHANGES = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.AugAssign, ast.With)


def own_form(evidence: Evidence, place: ast.AST) -> str | None:
    """The name, at a place, of a function in sight that does nothing but cut what it is given; None where there is no such, or several."""
    document = evidence.program.file_of(place)
    names = [name for name, function in functions_of(evidence, document) if cuts(function)]
    return names[0] if len(names) == 1 else None


def functions_of(evidence: Evidence, document: Document) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions that a file defines at its top, or takes from another file of the project."""
    for statement in document.tree.body:
        if isinstance(statement, ast.FunctionDef):
            yield statement.name, statement
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            taken = {alias.name: alias.asname or alias.name for alias in statement.names}
            target = evidence.document_named("." * statement.level + statement.module, document)
            for each in target.tree.body if target is not None else ():
                if isinstance(each, ast.FunctionDef) and each.name in taken:
                    yield taken[each.name], each


def cuts(function: ast.FunctionDef) -> bool:
    """Whether a function of one argument gives that back without its graph, and does nothing else."""
    given, parts = function.args, list(subtree(function))
    if len(given.args) != 1 or given.vararg or given.kwonlyargs or given.kwarg or function.decorator_list:
        return False
    stored = (part for part in parts if isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load))
    if any(isinstance(part, CHANGES) for part in parts) or any(stored):
        return False
    calls = [part for part in parts if isinstance(part, ast.Call)]
    returns = any(isinstance(part, ast.Return) and part.value is not None for part in parts)
    return returns and any(map(is_cut, calls)) and all(is_cut(call) or is_plain(call, function.name) for call in calls)


def is_cut(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "detach"


def is_plain(call: ast.Call, own: str) -> bool:
    """Whether a call takes apart, or puts together, what it is given: one of Python's own functions, or the function itself."""
    function = call.func
    if isinstance(function, ast.Name):
        row = row_of(f"builtins.{function.id}")
        return function.id == own or row is not None and not row.writes and not row.shows
    if isinstance(function, ast.Attribute):
        rows = rows_of_method(function.attr)
        return bool(rows) and not any(row.writes for row in rows)
    return isinstance(function, ast.Call)  # `type(h)(...)`

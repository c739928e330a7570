"""Functions that all of the project calls without recording: what they build, they build for nobody's graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.call_graph import word
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.source.document import Document

MAX_FILES = 16
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SWITCHES = frozenset(("no_grad", "inference_mode"))


@asked_once
def called_unrecorded(evidence: Evidence, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int = 3) -> bool:
    """Whether calls by its name are in sight, and each stands under `no_grad`, as written, or in a function of which that is true."""
    calls = list(calls_of(evidence, function)) if depth > 0 else []
    return bool(calls) and all(is_unrecorded(evidence, document, part, depth) for document, part in calls)


def calls_of(evidence: Evidence, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[Document, ast.Call]]:
    """The calls by its name in the file and in those that import it."""
    for document in (evidence.document, *evidence.importers_naming(function.name)):
        for part in ast.walk(document.tree):
            if isinstance(part, ast.Call) and word(part.func) == function.name and fits(part, function):
                yield document, part


def fits(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a call gives a function as many arguments as it takes."""
    if any(isinstance(each, ast.Starred) for each in call.args) or function.args.vararg is not None:
        return True
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    most = len(names) - (names[:1] == ["self"])
    given = len(call.args) + len(call.keywords)
    return most - len(function.args.defaults) <= given <= most + len(function.args.kwonlyargs)


def is_unrecorded(evidence: Evidence, document: Document, call: ast.Call, depth: int) -> bool:
    """Whether the code around a call switches recording off."""
    above = document.parents.get(call)
    while above is not None:
        switches: list[ast.expr] = []
        if isinstance(above, (ast.With, ast.AsyncWith)):
            switches = [item.context_expr for item in above.items]
        elif isinstance(above, FUNCTIONS):
            switches = above.decorator_list
        if any(word(each.func if isinstance(each, ast.Call) else each) in SWITCHES for each in switches):
            return True
        if isinstance(above, FUNCTIONS):
            return called_unrecorded(evidence, above, depth - 1)
        above = document.parents.get(above)
    return False

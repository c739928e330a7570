"""Functions that all of the project calls without recording: what they build, they build for nobody's graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.call_graph import word
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.testing import is_test
from graphfix.models.words import UNRECORDED_BY_TRAINER
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

MAX_FILES = 16
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SWITCHES = frozenset(("no_grad", "inference_mode"))


@asked_once
def called_unrecorded(evidence: Evidence, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int = 3) -> bool:
    """Whether calls by its name are in sight, and each stands under `no_grad`, as written, or in a function of which that is true.

    What tests do counts where nobody else calls it: they build what is gone when they end.
    """
    calls = list(calls_of(evidence, function)) if depth > 0 else []
    calls = [(document, call) for document, call in calls if not is_test(document)] or calls
    return bool(calls) and all(is_unrecorded(evidence, document, part, depth) for document, part in calls)


def calls_of(evidence: Evidence, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[Document, ast.Call]]:
    """The calls by its name in the file and in those that import it."""
    for document in (evidence.document, *evidence.importers_naming(function.name)):
        for part in subtree(document.tree):
            if isinstance(part, ast.Call) and word(part.func) == function.name and fits(part, function):
                yield document, part


def fits(call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a call gives a function as many arguments as it takes."""
    if any(isinstance(each, ast.Starred) for each in call.args) or function.args.vararg is not None:
        return True
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    most = len(names) - (names[:1] == ["self"])
    given = len(call.args) + len(call.keywords)
    unpacks = any(keyword.arg is None for keyword in call.keywords)
    enough = unpacks or given >= most - len(function.args.defaults)
    taken = unpacks or function.args.kwarg is not None or given <= most + len(function.args.kwonlyargs)
    return len(call.args) <= most and enough and taken


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
            return is_hook(above, document) or called_unrecorded(evidence, above, depth - 1)
        above = document.parents.get(above)
    return False


def is_hook(function: ast.FunctionDef | ast.AsyncFunctionDef, document: Document) -> bool:
    """Whether a trainer calls the function, and switches recording off around it."""
    owner = document.parents.get(function)
    bases = {word(base) for base in owner.bases} if isinstance(owner, ast.ClassDef) else set()
    return function.name in UNRECORDED_BY_TRAINER and any(base.endswith("LightningModule") for base in bases)

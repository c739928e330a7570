"""Functions that all of the project calls without recording: what they build, they build for nobody's graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from graphfix.analysis.bringing import imported_names
from graphfix.analysis.call_graph import word
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.testing import is_test
from graphfix.interpreter.imports import NEVER, Importer, parsed
from graphfix.models.words import UNRECORDED_BY_TRAINER
from graphfix.source.document import Document
from graphfix.source.reads import note_read
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
    """The calls by its name in the file, in those that import it, and in those that its class gets its bases from."""
    naming = evidence.importers_naming(function.name)
    inherited = [each for each in inherited_from(evidence, function) if each not in naming]
    for document in (evidence.document, *naming, *inherited):
        for part in subtree(document.tree):
            if isinstance(part, ast.Call) and word(part.func) == function.name and fits(part, function):
                yield document, part


def inherited_from(evidence: Evidence, method: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Document]:
    """The files of the project in which the bases of a method's class are defined, and the bases of these."""
    found: dict[Path, Document] = {}
    pending = [(evidence.document, owner) for owner in [evidence.program.parent(method)] if isinstance(owner, ast.ClassDef)]
    while pending and len(found) < MAX_FILES:
        document, cls = pending.pop()
        path = Path(document.path)
        importer = Importer(path, evidence.tape.roots)
        known = {root_name(base): word(base) for base in cls.bases}
        for name, module, member in imported_names(document.imports):
            target = importer.find(module, path) if name in known and module.strip(".").split(".")[0] not in NEVER else None
            defining = parsed(target, target.stem) if target is not None and target not in found else None
            if target is None or defining is None:
                continue
            note_read(target)
            found[target] = defining
            pending += [
                (defining, part)
                for part in defining.tree.body
                if isinstance(part, ast.ClassDef) and part.name in (member, known[name])
            ]
    return list(found.values())


def root_name(expression: ast.expr) -> str:
    """The variable that a dotted name begins with."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return word(expression)


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
        if any(is_switched_off(evidence, document, each) for each in switches):
            return True
        if isinstance(above, FUNCTIONS):
            return is_hook(above, document) or called_unrecorded(evidence, above, depth - 1)
        above = document.parents.get(above)
    return False


def is_switched_off(evidence: Evidence, document: Document, context: ast.expr) -> bool:
    """Whether recording is off in a context that is entered, or in a function that it decorates."""
    documents = (document,) if document is evidence.document else (document, evidence.document)
    return is_switch(documents, context) or isinstance(context, ast.Call) and is_switch(documents, context.func)


def is_switch(documents: tuple[Document, ...], context: ast.expr, depth: int = 3) -> bool:
    """Whether a context, or what makes one, is one that switches recording off, however its file calls it.

    `documents`: the file that it stands in, and that of a class which may define anew what it asks for.
    """
    if isinstance(context, ast.IfExp):
        return is_switch(documents, context.body, depth) and is_switch(documents, context.orelse, depth)
    if word(context) in SWITCHES or isinstance(context, ast.Call) and word(context.func) in SWITCHES:
        return True
    meant = meanings(documents, context) if depth else []
    return bool(meant) and all(is_switch(documents, each, depth - 1) for each in meant)


def meanings(documents: tuple[Document, ...], expression: ast.expr) -> list[ast.expr]:
    """What a variable of the function around was given, or what functions of that name return; nothing where it may be something else."""
    if isinstance(expression, ast.Name):
        bound = [documents[0].parents[part] for part in bindings(documents[0], expression)]
        assigned = [each.value for each in bound if isinstance(each, ast.Assign)]
        return assigned if len(assigned) == len(bound) else []
    if not isinstance(expression, ast.Call):
        return []
    called = expression.func
    if isinstance(called, ast.Name) and bindings(documents[0], called):
        return []
    owner = ast.ClassDef if isinstance(called, ast.Attribute) else ast.Module
    functions = [
        part
        for document in documents
        for part in subtree(document.tree)
        if isinstance(part, FUNCTIONS) and part.name == word(called) and isinstance(document.parents.get(part), owner)
    ]
    returns = [part for function in functions for part in subtree(function) if isinstance(part, ast.Return)]
    return [part.value for part in returns if part.value is not None]


def bindings(document: Document, name: ast.Name) -> list[ast.AST]:
    """Where the function around a name binds it."""
    around = document.enclosing(name, FUNCTIONS)
    return [
        part
        for part in (subtree(around) if around is not None else ())
        if isinstance(part, ast.arg)
        and part.arg == name.id
        or isinstance(part, ast.Name)
        and part.id == name.id
        and not isinstance(part.ctx, ast.Load)
    ]


def is_hook(function: ast.FunctionDef | ast.AsyncFunctionDef, document: Document) -> bool:
    """Whether a trainer calls the function, and switches recording off around it."""
    owner = document.parents.get(function)
    bases = {word(base) for base in owner.bases} if isinstance(owner, ast.ClassDef) else set()
    return function.name in UNRECORDED_BY_TRAINER and any(base.endswith("LightningModule") for base in bases)

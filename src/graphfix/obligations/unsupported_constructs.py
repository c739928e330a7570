"""Constructs that the flow does not follow, through which a value may reach backward(), or a write, unseen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.flow import Flow
from graphfix.effects.rows import row_of
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Open
from graphfix.source.document import Document
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

BUILT_IN = frozenset(("list", "dict", "set", "bytearray", "deque", "OrderedDict", "defaultdict", "Counter"))
# what a function, or a wrapped container, holds: https://docs.python.org/3/reference/datamodel.html#user-defined-functions,
# https://docs.python.org/3/library/collections.html#userdict-objects
WORDS = frozenset("__defaults__ __kwdefaults__ __closure__ cell_contents UserDict UserList ContextVar __self__".split())


def unfollowed(flow: Flow) -> Iterator[Open]:
    """The first place of each kind in the code in sight."""
    for call in flow.code.calls:
        if puts_unbound(call):
            yield Open(call, "is a call that the analysis does not follow, and may store it")
            break
    for call, dotted in flow.code.calls.items():
        row = row_of(dotted)
        objects = dotted.startswith("numpy.") and any(map(names_object, call.args))
        if row is not None and row.hides or objects or any(is_object_type(keyword) for keyword in call.keywords):
            yield Open(call, "stores values in a way that the analysis does not follow")
            break
    for call, dotted in flow.code.calls.items():
        if (row := row_of(dotted)) is not None and row.maps:
            yield Open(call, "runs its function on batched tensors")
            break
    for document in flow.code.documents.values():
        yield from in_file(flow, document)


def in_file(flow: Flow, document: Document) -> Iterator[Open]:
    named = WORDS & document.words
    for part in subtree(document.tree):
        if named and isinstance(part, (ast.Name, ast.Attribute)) and word(part) in named:
            named = frozenset()
            yield Open(part, "returns stored values in a way that the analysis does not follow")
        elif isinstance(part, ast.ExceptHandler) and part.name and part.type is not None and names_stop(part.type):
            yield Open(part, "reads the return value of a generator")
        elif isinstance(part, ast.ClassDef) and any(word(base) in ("list", "deque") for base in part.bases) and sets_items(part):
            yield Open(part, "changes how a list stores its items")
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, ast.BitOr) and isinstance(part.value, ast.Dict):
            yield Open(part, "is a call that the analysis does not follow, and may store it")
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and is_function(flow, part.value):
            yield Open(part, "stores a value as an attribute of a function")
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and word(part.value) == "__dict__":
            if isinstance(part.value, ast.Attribute) and is_function(flow, part.value.value):
                yield Open(part, "stores a value as an attribute of a function")


def names_stop(kind: ast.expr) -> bool:
    """Whether a handler takes the end of a generator, which brings what that has returned."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(word(each) in ("StopIteration", "StopAsyncIteration") for each in kinds)


def sets_items(cls: ast.ClassDef) -> bool:
    return any(
        isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store) and word(part.value) == "self"
        for part in subtree(cls)
    )


def puts_unbound(call: ast.Call) -> bool:
    """Whether a method of a built-in container is called by its class: `list.append(kept, loss)`."""
    function = call.func
    return (
        isinstance(function, ast.Attribute) and library.fills(function.attr) and word(function.value) in BUILT_IN and len(call.args) > 1
    )


def is_object_type(keyword: ast.keyword) -> bool:
    """Whether an array is one of Python objects, which may be tensors."""
    return keyword.arg == "dtype" and names_object(keyword.value)


def names_object(value: ast.expr) -> bool:
    return word(value) in ("object", "object_") or ast.unparse(value) in ("'O'", "'object'")


def is_function(flow: Flow, value: ast.expr) -> bool:
    """Whether an attribute is set that a function has, and not a method under another name."""
    sources = flow.graph.sources(value)
    return (
        bool(sources)
        and all(isinstance(source, (ast.FunctionDef, ast.Lambda)) for source in sources)
        and word(value) not in WALKS
    )

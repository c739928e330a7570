"""What runs the code of a program from outside: runners, processes that it starts of itself, calls of methods by computed names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Place
from graphfix.effects.rows import row_of
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow

# what holds the name of the file that runs: https://docs.python.org/3/library/sys.html#sys.argv
OWN_FILE = ("__file__", "argv", "orig_argv")


def computed_names(flow: Flow) -> Iterator[ast.Call]:
    """The calls of what is taken by a name that is put together: `getattr(self, "do_" + word)(line)`."""
    for call in flow.code.calls:
        got = call.func
        if isinstance(got, ast.Call) and flow.code.calls.get(got) == "getattr" and not isinstance(got.args[-1], ast.Constant):
            yield call


def runners(flow: Flow) -> Iterator[ast.AST]:
    """The calls that run code of the program out of texts or by its names, and keep what it raises: `doctest.testmod()`.

    So does a process in which the program starts itself: what it raises there is an exit code to whoever has started it.
    """
    for call, dotted in flow.code.calls.items():
        row = row_of(dotted) if dotted else None
        if row is not None and row.swallows and row.calls:
            yield call
    yield from flow.own_starts


def starts_of_itself(flow: Flow) -> Iterator[ast.Call]:
    """The calls that start a process which runs the program itself: whoever starts it may read its exit code, and what it prints."""
    for call, dotted in flow.code.calls.items():
        if dotted and (row := row_of(dotted)) is not None and row.starts and is_given_program(flow, call):
            yield call


def is_given_program(flow: Flow, call: ast.Call) -> bool:
    """Whether what a call starts is the program itself: a fork, which is given nothing, or a command that names a file of it."""
    files = {PurePath(document.path).name for document in flow.code.documents.values()}
    given = arguments(call)
    return not given or any(names_file(part, files) for part in written_in(flow, given))


def written_in(flow: Flow, given: Iterable[ast.expr]) -> Iterator[ast.AST]:
    """The code of all that a text, or a list of texts, is put together of."""
    seen: set[ast.AST] = set()
    reached: set[Place] = set()
    known: set[Place] = set()
    pending = list(given)
    while pending:
        at = pending.pop()
        below = (at, *flow.graph.further(at, reached, known), *flow.graph.put_into(flow.graph.sources(at), None))
        for part in (part for place in below if isinstance(place, ast.expr) and place not in seen for part in subtree(place)):
            if part not in seen:
                seen.add(part)
                pending.extend([part] if isinstance(part, ast.Name) else ())
                yield part


def names_file(part: ast.AST, files: set[str]) -> bool:
    """Whether a part of a command is one of `files`, or the file in which it stands."""
    if isinstance(part, ast.Constant):
        return isinstance(part.value, str) and not files.isdisjoint(PurePath(each).name for each in part.value.split())
    return isinstance(part, (ast.Name, ast.Attribute)) and word(part) in OWN_FILE

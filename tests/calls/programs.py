"""Programs of the tests of the call graph: of one file, or of several that import one another."""

from __future__ import annotations

import ast

from graphfix.calls.graph import CallGraph
from graphfix.calls.program import Program
from graphfix.source.document import Document


def graph_of(text: str, **others: str) -> CallGraph:
    """The call graph of a file; `others`: the further modules of its program, by their names."""
    documents = {name: Document(f"{name}.py", content, name) for name, content in others.items()}
    return CallGraph(Program(Document("main.py", text), lambda name, importing: documents.get(name.lstrip("."))))


def last_value(graph: CallGraph) -> list[object]:
    """What the expression may be that the file ends with."""
    code, value = place_of(graph, graph.program.main.tree.body[-1].value)  # type: ignore[attr-defined]
    return list(graph.meanings(code, value))


def place_of(graph: CallGraph, node: ast.AST):
    """The code object and the value of an expression of the file."""
    origins = graph.program.main.origins
    return origins.code(node), [each.result for each in origins.of(node) if each.result is not None][-1]


def run_by(graph: CallGraph, node: ast.AST) -> set[str]:
    """The names of the code that a statement or expression of the file may run; `?` for code that nobody can name."""
    origins = graph.program.main.origins
    found: set[str] = set()
    for each in origins.within(node):
        targets = graph.resolve(origins.code(node), each)
        found |= {getattr(code, "name", type(code).__name__) for code in targets.codes} | ({"?"} if targets.is_open else set())
    return found

"""Which code of a program calls which when it runs: what the call graph is compared with."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from graphfix.calls.graph import CallGraph
from graphfix.calls.program import Program
from graphfix.ir.instructions import Instruction
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

NAME = "<program>"
# Python makes functions of these, graphfix does not
INLINED = ("<listcomp>", "<setcomp>", "<dictcomp>")
LATE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Made(NamedTuple):
    """One call: the span of the code that makes it, and the code that it runs."""

    line: int
    column: int
    end_line: int
    end_column: int
    code: CodeType


def calls_made(text: str) -> list[Made]:
    """Run a program, and tell the calls from its own code into its own code; those that resume a generator are left out."""
    found: dict[Made, None] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        caller = frame.f_back
        if event != "call" or caller is None or NAME not in (frame.f_code.co_filename, "") or caller.f_code.co_filename != NAME:
            return
        code = frame.f_code
        if code.co_name not in INLINED and not code.co_flags & LATE:
            position = list(caller.f_code.co_positions())[caller.f_lasti // 2]
            if None not in position:
                found[Made(position[0], position[2], position[1], position[3], code)] = None  # type: ignore[arg-type]

    compiled = compile(text, NAME, "exec", dont_inherit=True)
    namespace = {"__name__": "__main__"}
    sys.setprofile(watch)
    try:
        exec(compiled, namespace)
    finally:
        sys.setprofile(None)
    return list(found)


class Compared(NamedTuple):
    """A call that was made: whether the call graph names what it runs, or says that nobody can know; neither is a fault of it."""

    text: str
    is_named: bool
    is_open: bool


def compared(text: str) -> Iterator[Compared]:
    """Each call that a program makes when it runs, by what the call graph says of it."""
    document = Document("program.py", text)
    graph = CallGraph(Program(document, lambda name, importing: None))
    nodes: dict[tuple[str, int], list[ast.AST]] = {}
    for code in graph.program.main.codes():
        nodes.setdefault(_known_as(code.node), []).append(code.node)
    for made in calls_made(text):
        callees = nodes.get((made.code.co_name, made.code.co_firstlineno), [])
        targets = [graph.resolve(document_code, each) for document_code, each in _instructions(graph, document, made)]
        named = any(callee in target.codes for target in targets for callee in callees)
        line = text.splitlines()[made.line - 1].strip()
        yield Compared(f"{made.line}: {line} -> {made.code.co_qualname}", named, any(target.is_open for target in targets))


def _known_as(node: ast.AST) -> tuple[str, int]:
    decorators = getattr(node, "decorator_list", [])
    names: dict[type, str] = {ast.Lambda: "<lambda>", ast.GeneratorExp: "<genexpr>", ast.Module: "<module>"}
    first = min([getattr(node, "lineno", 1), *(each.lineno for each in decorators)])
    return names.get(type(node)) or node.name, first  # type: ignore[attr-defined]


def _instructions(graph: CallGraph, document: Document, made: Made) -> Iterator[tuple[Any, Instruction]]:
    """The instructions of the code that made a call: of exactly this span, or else of the smallest code around it."""
    begin, end = (made.line, made.column), (made.end_line, made.end_column)
    around: list[tuple[int, ast.AST]] = []
    for node in subtree(document.tree):
        if hasattr(node, "lineno") and (node.lineno, node.col_offset) <= begin and end <= (node.end_lineno, node.end_col_offset):
            around.append((len(list(subtree(node))), node))
    origins = graph.program.main.origins
    exact = [
        node for _, node in around if (node.lineno, node.col_offset) == begin and (node.end_lineno, node.end_col_offset) == end
    ]
    for node in exact or [min(around, key=lambda each: each[0])[1]]:
        code = origins.code(node)
        if isinstance(node, (ast.stmt, ast.ListComp, ast.SetComp, ast.DictComp)) or not exact:
            yield from ((code, each) for each in origins.within(node))
            continue
        given = {each.result for each in origins.of(node)}
        for each in code.instructions():  # what is done with the value of an expression is said to be at the expression
            if each.node is node or not given.isdisjoint(each.operands):
                yield code, each

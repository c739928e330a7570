"""Functions that all of the project calls without recording: what they build, they build for nobody's graph."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.testing import is_test
from graphfix.calls.classes import line_of
from graphfix.calls.graph import CallGraph
from graphfix.calls.meanings import Bound, Function, Library, Meaning, Object, Unknown
from graphfix.calls.program import File
from graphfix.effects.rows import row_of
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.models.words import UNRECORDED_BY_TRAINER
from graphfix.source.document import Document
from graphfix.source.spelling import FUNCTIONS, Definition

MOST_CALLS = 6  # from the call without recording to the function


@asked_once
def called_unrecorded(evidence: Evidence, function: Definition, depth: int = MOST_CALLS) -> bool:
    """Whether calls of it are in sight, and each is made where nothing is recorded, or in a function of which that is true.

    What tests do counts where nobody else calls it: they build what is gone when they end.
    """
    calls = list(calls_of(evidence, function)) if depth > 0 else []
    calls = [(code, call) for code, call in calls if not stands_in_test(evidence, code)] or calls
    return bool(calls) and all(is_unrecorded(evidence, code, call, depth) for code, call in calls)


@asked_once
def may_be_unrecorded(evidence: Evidence, function: Definition, depth: int = MOST_CALLS) -> bool:
    """Whether one of its calls in sight is made where nothing is recorded, or in a function of which that is true."""
    for code, call in calls_of(evidence, function) if depth > 0 else ():
        if is_unrecorded(evidence, code, call, 1):
            return True
        if isinstance(code.node, FUNCTIONS) and may_be_unrecorded(evidence, code.node, depth - 1):
            return True
    return False


@asked_once
def called_unseen(evidence: Evidence, function: Definition) -> bool:
    """Whether code that records, and is no test, calls it where no run has come to it: they do not show what becomes of its graphs there."""
    seen = entered(evidence)
    for code, call in calls_of(evidence, function):
        is_seen = (document_of(evidence, code).statement_of(call.node), function) in seen
        if not is_seen and not stands_in_test(evidence, code) and not is_unrecorded(evidence, code, call, MOST_CALLS):
            return True
    return False


@asked_once
def entered(evidence: Evidence) -> set[tuple[ast.AST, ast.AST]]:
    """The statements out of which a run has come to a function that records, each with that function."""
    traces = {node.trace for run in evidence.tape.runs for node in run.recording.nodes}
    return {(statement, frame.definition) for trace in traces for (_, statement), (frame, _) in itertools.pairwise(trace)}


def document_of(evidence: Evidence, code: Code) -> Document:
    """The file in which code stands."""
    program = evidence.call_graph.program
    return program.documents[program.home(code.node).tree]


def stands_in_test(evidence: Evidence, code: Code) -> bool:
    """Whether code stands in a file of tests."""
    return is_test(document_of(evidence, code))


def calls_of(evidence: Evidence, function: Definition) -> Iterator[tuple[Code, ir.Call]]:
    """The calls that may run a function: in the files of the program, in those that import it (those of a method need not), and in those
    that its class derives from."""
    graph = evidence.call_graph
    spelling = (document for document in evidence.program.files if function.name in document.words)
    files = [graph.program.take_in(document) for document in spelling]
    home = graph.program.home(function)
    files.append(home)
    cls = home.class_around(function)
    users = evidence.users_naming if cls is None else evidence.neighbours_naming
    files += map(graph.program.take_in, users(function.name, graph.program.documents[home.tree]))
    if cls is not None:
        files += [graph.program.home(base) for base in line_of(graph.values, cls).classes]
    for file in dict.fromkeys(files):
        for code, call in file.calls:
            if may_call(graph, code, call, function):
                yield code, call


def may_call(graph: CallGraph, code: Code, call: ir.Call, function: Definition) -> bool:
    """Whether a call may run a function: it surely means it, or it calls something unknown by this name; a call that it refuses runs nothing."""
    meant = graph.meanings(code, call.function)
    is_meant = any(means(meaning, function) for meaning in meant)
    is_open = not meant or any(map(is_unknown, meant))
    return (is_meant or is_open and spelled(code, call) == function.name) and fits(call, function)


def means(meaning: Meaning, function: Definition) -> bool:
    """Whether a value is this function, or a method of an object that it is."""
    if isinstance(meaning, Bound):
        return meaning.function is function
    return isinstance(meaning, Function) and meaning.node is function


def spelled(code: Code, call: ir.Call) -> str:
    """The name by which a call names what it calls."""
    called = code.givers[call.function]
    if isinstance(called, ir.ReadAttribute):
        return called.name
    return called.variable.name if isinstance(called, ir.ReadName) else ""


def is_unknown(meaning: Meaning) -> bool:
    """Whether a value may be anything: also what comes out of a library of which nothing is known."""
    return isinstance(meaning, Unknown) or isinstance(meaning, (Library, Object)) and row_of(meaning.name) is None


def fits(call: ir.Call, function: Definition) -> bool:
    """Whether a call gives a function as many arguments as it takes."""
    if any(each.stars == 1 for each in call.arguments) or function.args.vararg is not None:
        return True
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    most = len(names) - (names[:1] == ["self"])
    positional = sum(each.name is None and not each.stars for each in call.arguments)
    unpacks = any(each.stars for each in call.arguments)
    given = len(call.arguments)
    enough = unpacks or given >= most - len(function.args.defaults)
    taken = unpacks or function.args.kwarg is not None or given <= most + len(function.args.kwonlyargs)
    return positional <= most and enough and taken


def is_unrecorded(evidence: Evidence, code: Code, call: ir.Instruction, depth: int) -> bool:
    """Whether recording is off where a call is made."""
    file = evidence.call_graph.program.home(code.node)
    if evidence.recording.is_off(code, call):
        return True
    if isinstance(code.node, FUNCTIONS):
        decorated = evidence.recording.is_decorated(code.node)
        return decorated or is_hook(evidence, file, code.node) or called_unrecorded(evidence, code.node, depth - 1)
    if isinstance(code.node, ast.Module):
        return False
    around, made = file.origins.code(code.node), file.origins.of(code.node)  # a lambda is taken to run where it stands
    return bool(made) and all(is_unrecorded(evidence, around, each, depth) for each in made)


def is_hook(evidence: Evidence, file: File, function: Definition) -> bool:
    """Whether a trainer calls the function, and switches recording off around it."""
    cls = file.class_around(function)
    if cls is None or function.name not in UNRECORDED_BY_TRAINER:
        return False
    return any(base.endswith("LightningModule") for base in line_of(evidence.call_graph.values, cls).libraries)

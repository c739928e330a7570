"""How an evaluation is kept from recording, and how it is told."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Sequence

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.region import Region
from graphfix.analysis.runs import Run
from graphfix.autograd.graph import Node
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.recording import Mode
from graphfix.interpreter.values import Unknown, Value, leaves_in
from graphfix.model import OUTSIDE, Decorate, Fix, Label, NoFix, Operation, Wrap
from graphfix.repair.fixes import fix, naming_torch
from graphfix.source.document import sure_statements
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

# these read the function's source, and know no context in it: https://docs.pytorch.org/docs/stable/jit_language_reference.html
COMPILES = frozenset("script script_method script_if_tracing jit njit trace".split())


def no_grad_around(evidence: Evidence, held: Region) -> tuple[str, tuple[Operation, ...]] | None:
    """The title and the operations that put it under `no_grad`; None where the file cannot name torch."""
    torch = evidence.program.file_of(held.first).torch
    if torch is None:
        return None
    function = held.function
    if function is not None:
        if not _is_named_before(evidence, function, torch):
            return None
        # what other decorators make of a function may be no function (`property`), or be registered somewhere as it is
        compiled = any(word in COMPILES for decorator in function.decorator_list for word in named_in(decorator))
        operation: Operation = Decorate(evidence.program.span(function), f"{torch}.no_grad()", inside=not compiled)
        return f"run `{short(function.name)}` under no_grad", naming_torch(evidence, function, operation)
    operation = Wrap(tuple(evidence.program.span(part) for part in held.repaired), f"with {torch}.no_grad():")
    return "run it under no_grad", naming_torch(evidence, held.first, operation)


def unnamed(evidence: Evidence, place: ast.AST) -> NoFix:
    """Why no repair can name torch in the file of `place`."""
    if any(alias.name == "torch" for part in evidence.program.file_of(place).imports if isinstance(part, ast.Import) for alias in part.names):
        return NoFix("`torch` may not be imported yet where the fix needs it")
    return NoFix("`torch` is not imported by name in this file")


def named_in(decorator: ast.expr) -> list[str]:
    return [
        part.attr if isinstance(part, ast.Attribute) else part.id
        for part in subtree(decorator)
        if isinstance(part, (ast.Attribute, ast.Name))
    ]


def _is_named_before(evidence: Evidence, function: ast.FunctionDef | ast.AsyncFunctionDef, torch: str) -> bool:
    """Whether the decorator would find torch: it runs with the definition, which may stand above the import."""
    document = evidence.program.file_of(function)
    top = next((part for part in document.tree.body if (part.end_lineno or 0) >= function.lineno >= part.lineno), None)
    if isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef)) and top is not function:
        return True  # defined when that is called
    named = [
        part
        for part in sure_statements(document.tree.body)
        if isinstance(part, ast.Import) and torch in (alias.asname or alias.name.split(".")[0] for alias in part.names)
    ]
    added = document.importable("torch")
    return any(part.lineno < function.lineno for part in (*named, *([added] if added is not None else ())))


def recorded_in_training(evidence: Evidence, statement: ast.stmt, module: ast.expr | None) -> Fix | NoFix:
    """The forward pass of a module that has a name, under a mode that is on where the module is in training."""
    torch = evidence.program.file_of(statement).torch
    if torch is None:
        return unnamed(evidence, statement)
    if module is None or not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
        return NoFix("the forward pass is part of a larger statement, or its module has no name")
    wrap = Wrap((evidence.program.span(statement),), f"with {torch}.set_grad_enabled({ast.unparse(module)}.training):")
    doubt = f"{OUTSIDE}may call backward() on what is computed in evaluation mode"
    return fix("record it in training mode only", *naming_torch(evidence, statement, wrap), doubt=doubt)


def story_of(evidence: Evidence, held: Region) -> Iterator[Label]:
    """The first forward pass, and where its module was put into evaluation mode, if that is in the evaluation or beside it."""
    first = held.first
    passes = [node for node, statement in held.forwards if statement is first]
    yield evidence.label(recording_part(first, passes), "this records a graph that no backward() uses")
    if held.evaluates:
        calls = {
            frame for node in passes for depth, (frame, _) in enumerate(node.trace) if depth >= held.depth_in(node.trace)
        }  # fmt: skip
        yield from evaluation_mode(evidence, passes, calls)


def recording_part(statement: ast.stmt, passes: Sequence[Node] = ()) -> ast.AST:
    """What of a statement records: of one with a body what it begins with, and in that the call of the module, if it stands there."""
    match statement:
        case ast.For() | ast.AsyncFor():
            head: ast.expr = statement.iter
        case ast.While() | ast.If():
            head = statement.test
        case ast.With() | ast.AsyncWith():
            head = statement.items[0].context_expr
        case _:
            return statement
    return next((node.site for node in passes if any(part is node.site for part in subtree(head))), head)


def doubted_at(evidence: Evidence, held: Region) -> Iterator[Label]:
    """The code that may want a gradient, where a single place in this file does."""
    if held.doubt is not None and held.doubt.site is not None and evidence.program.holds(held.doubt.site):
        yield evidence.label(held.doubt.site, f"not proven safe: {held.doubt.reason}")


def doubt_of(held: Region) -> str:
    """Why running the evaluation without recording is not proven safe; empty where it is."""
    return held.doubt.reason if held.doubt is not None else ""


def evaluation_mode(evidence: Evidence, passes: Sequence[Node] = (), calls: Container[Frame] | None = None) -> Iterator[Label]:
    """Where a module was put into evaluation mode: the one whose forward `passes` these are, last before them, where that is known.

    `calls`: only in one of them, as what happens elsewhere explains nothing of what is seen here.
    """
    runs = {
        run: [
            event
            for event in run.recording.modes
            if event.training is False and evidence.program.holds(event.site) and (calls is None or event.trace and event.trace[-1][0] in calls)
        ]
        for run in evidence.tape.runs
    }
    own = (last_before(events, run, passes) for run, events in runs.items() if events and passes)
    event = next(filter(None, own), None) or next((event for events in runs.values() for event in events), None)
    if event is not None:
        yield evidence.label(event.site, "eval() does not turn off the recording of graphs")


def last_before(events: Sequence[Mode], run: Run, passes: Sequence[Node]) -> Mode | None:
    """The last of these calls of `eval()` before the first of the forward passes that `run` has made: one about the same module, if any."""
    made = set(passes).intersection(run.recording.nodes)
    first = min(made, key=lambda node: node.order, default=None)
    before = [event for event in reversed(events) if first is not None and event.order < first.order]
    return next((event for event in before if first is not None and is_of(first, event.module)), next(iter(before), None))


def is_of(node: Node, module: Value | None) -> bool:
    """Whether a node is made by a module."""
    if module is None or isinstance(module, Unknown):
        return module is not None and module.key == node.callee
    return not set(node.leaves).isdisjoint(leaves_in(module))

"""Gradients of what `torch.compile` has compiled that are gone through backward, which torch refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import CompiledCall
from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class CompiledGradient:
    """The call of compiled code, the pass that records its gradients, and the backward pass that goes through these."""

    call: CompiledCall
    records: BackwardPass
    walk: BackwardPass


def compiled_gradients(evidence: Evidence) -> Iterator[CompiledGradient]:
    """Those of a program, each place that compiles once; none whose error the program may swallow."""
    found: dict[ast.AST, CompiledGradient] = {}
    for run in evidence.tape.runs:
        for each in in_run(run) if run.recording.compiled_calls else ():
            if evidence.program.holds(each.call.compiled_at) and not evidence.swallows(each.walk.site):
                found.setdefault(each.call.compiled_at, each)
    yield from (each for each in found.values() if is_what_is_called(evidence, each.call))


def in_run(run: Run) -> Iterator[CompiledGradient]:
    """Each compiled call of which a graph of gradients is made and gone through; what is computed and gone through inside of one is compiled as a whole."""
    calls = run.recording.compiled_calls
    for records in run.recording.walks:
        if not records.created or any(call.first <= records.order <= call.last for call in calls):
            continue
        walk = next((walk for node in records.created for walk in node.walks), None)
        call = next((call for node in records.below if (call := made_in(node, calls)) is not None), None)
        if walk is not None and call is not None:
            yield CompiledGradient(call, records, walk)


def made_in(node: Node, calls: list[CompiledCall]) -> CompiledCall | None:
    """The compiled call that a node was made in."""
    return next((call for call in calls if node.certain and call.first <= node.order <= call.last), None)


def is_what_is_called(evidence: Evidence, call: CompiledCall) -> bool:
    """Whether it was the result of `torch.compile` that was called, and not the module that this leaves as it is.

    A run takes the two for one object. They are where the result takes the module's name, or the module has no other.
    """
    made = call.compiled_at
    if not isinstance(made, ast.Call) or not isinstance(made.func, (ast.Attribute, ast.Name)) or not made.args:
        return True  # a decorator, or the method of the module itself
    given, statement = made.args[0], evidence.program.statement_of(made)
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return True
    if isinstance(statement, ast.Assign) and statement.value is made:
        names = [ast.unparse(target) for target in statement.targets]
        called = ast.unparse(call.site.func) if isinstance(call.site, ast.Call) else ""
        return ast.unparse(given) in names or called in names
    return isinstance(statement, ast.Return)

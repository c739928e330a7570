"""Detaching state where it is stored: for a loop that is out of sight, as a framework's is."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence, as_detached, keeps_walks
from graphfix.analysis.second_backward import SecondBackward
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Mapping, Sequence, Value
from graphfix.model import OUTSIDE, Append, Ground, InsertAfter, NoFix, Operation
from graphfix.repair.candidate import Candidate, Effect, reasoned
from graphfix.repair.shapes import detached
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

ELSEWHERE = "the loop that calls backward() is outside the analysed code"


def detached_at_store(evidence: Evidence, carrier: str, walk: SecondBackward) -> Candidate | NoFix:
    """Detach the attribute `carrier` wherever it is stored, if the iteration that stores it needs no graph through it."""
    _, _, name = carrier.rpartition(".")
    if name == carrier:
        return NoFix(ELSEWHERE)
    stores = stores_of(evidence, name, walk)
    operations = [each for store in stores for each in operation(evidence, store)]
    if not stores or len(operations) < len({store.target for store in stores}):
        return NoFix(ELSEWHERE)
    if not needs_no_graph(evidence, name):
        return NoFix(f"the same iteration goes backward through `{carrier}`, and {ELSEWHERE}")
    return reasoned(
        Effect.CUT,
        f"detach `{short(carrier)}` where it is stored",
        *dict.fromkeys(operations),
        ground=Ground.FREED,
        doubt=f"{OUTSIDE}may call backward() on more than one iteration at once",
    )


def stores_of(evidence: Evidence, name: str, walk: SecondBackward) -> list[Store]:
    """Where the file stores graphs in attributes of this name."""
    runs = (run for run in evidence.tape.runs if run.entry is walk.entry)
    stores = (store for run in runs for store in run.recording.stores if store.nodes)
    return [
        store
        for store in stores
        if isinstance(store.target, ast.Attribute) and store.target.attr == name and evidence.program.holds(store.target)
    ]


def operation(evidence: Evidence, store: Store) -> list[Operation]:
    """The edits that detach what one assignment stores; none where that is not plain."""
    statement, text = evidence.program.statement_of(store.target), ast.unparse(store.target)
    made = detached(store.value, text)
    if made is None or not isinstance(statement, ast.Assign):
        return []
    if statement.targets == [store.target] and made == f"{text}.detach()":
        return [Append(evidence.program.span(statement.value), ".detach()")]
    return [InsertAfter(evidence.program.span(statement), f"{text} = {made}")]


def needs_no_graph(evidence: Evidence, name: str) -> bool:
    """Whether each backward pass that works still carries every gradient with all attributes of this name detached where they are read."""
    reads = [
        part
        for document in evidence.program.files
        for part in subtree(document.tree)
        if isinstance(part, ast.Attribute) and part.attr == name and isinstance(part.ctx, ast.Load)
    ]
    return keeps_walks(evidence.tape, evidence.tape.replay(dict.fromkeys(reads, without_graph)))


def without_graph(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """The value of an expression with all graphs cut that it, or a container, holds."""
    if isinstance(value, Sequence):
        made = value.copied()
        made.items = [without_graph(m, node, item) for item in value.items]
        return made
    if isinstance(value, Mapping):
        copy = value.copied()
        copy.items = {key: without_graph(m, node, item) for key, item in value.items.items()}
        return copy
    return as_detached(m, node, value)

"""State that chains every iteration to the one before although no backward pass ever reaches it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.growing_places import GrowingPlace
from graphfix.analysis.mended import kept
from graphfix.analysis.state import unwalked_state
from graphfix.analysis.subject import Tell
from graphfix.model import Finding, Fix, InsertAfter, NoFix
from graphfix.repair.fixes import fix
from graphfix.repair.shapes import detached
from graphfix.source.quote import short


def unwalked(evidence: Evidence, attributes: bool, tell: Tell) -> Iterator[Finding]:
    """Findings for growing state in attributes, or in plain names."""
    for target, place in unwalked_state(evidence, attributes).items():
        yield from evidence.told(report, target, place, tell)


def report(evidence: Evidence, target: ast.AST, place: GrowingPlace, tell: Tell) -> Finding:
    statement = evidence.program.statement_of(target)
    text = ast.unparse(target)
    story = (
        evidence.label(target, "every iteration adds its graph to those of all earlier iterations, and no backward() uses them"),
    )
    message = f"`{short(text)}` keeps the graph of every iteration alive"
    repair = repair_of(evidence, statement, text, place)
    subject = replace(kept(evidence, place, place.stores), about=frozenset([target]))
    return tell(evidence, message, evidence.program.span(statement), story, repair, subject=subject)


def repair_of(evidence: Evidence, statement: ast.stmt, text: str, place: GrowingPlace) -> Fix | NoFix:
    """Detach right after the store: nobody walks what is stored, so nothing is lost."""
    values = {detached(store.value, text) for store in place.stores}
    if len(values) != 1 or None in values or not isinstance(statement, ast.Assign):
        return NoFix("several kinds of values are stored, or not by a plain assignment")
    made = values.pop()
    if is_asked(evidence, place):
        made = f"{made}.requires_grad_()"
        if made != f"{text}.detach().requires_grad_()":
            return NoFix("gradients are requested with respect to the stored value, which is not a single tensor")
    after = InsertAfter(evidence.program.span(statement), f"{text} = {made}")
    return fix(f"detach `{short(text)}` where it is stored", after)


def is_asked(evidence: Evidence, place: GrowingPlace) -> bool:
    """Whether gradients are asked for with respect to what is stored: it has to be a leaf once it is cut."""
    stored = {node for store in place.stores for node in (*store.nodes, *store.old)}
    walks = (event for run in evidence.tape.runs for event in run.recording.walks)
    return any(event.targets is not None and not stored.isdisjoint(event.targets[0]) for event in walks)

"""Layers that a module keeps in a plain list: `parameters()` does not give theirs, and no optimizer trains them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.interpreter.recording import Unregistered
from graphfix.lazy_dataclass import dataclass
from graphfix.models.registered import reached
from graphfix.source.subtree import subtree

LATER = "add_param_group"  # gives an optimizer more than it was made with


@dataclass(frozen=True, eq=False)
class PlainLayers:
    """The assignment of a list or dict that makes layers, and the optimizer that does not get them."""

    statement: ast.Assign
    optimizer: Unregistered


def unregistered_layers(evidence: Evidence) -> Iterator[PlainLayers]:
    """The attributes whose layers get a gradient in some run, but are no part of what any optimizer of it is given, each once."""
    told: set[ast.AST] = set()
    if any(LATER in document.text for document in evidence.program.files):
        return
    for run in evidence.tape.runs:
        for kept in run.recording.unregistered:
            statement = making(kept)
            known = statement is not None and statement not in told and evidence.program.holds(statement)
            if known and statement is not None and evidence.program.holds(kept.site) and gets_gradients(run, kept):
                told.add(statement)
                yield PlainLayers(statement, kept)


def gets_gradients(run: Run, kept: Unregistered) -> bool:
    """Whether backward passes reach the layers, and the program freezes none of them, nor gets hold of their parameters in another way."""
    recording = run.recording
    handed = {leaf for each in recording.handed for leaf in reached(each.values)}
    if not kept.leaves or not kept.leaves.isdisjoint(recording.reached | handed) or not all(leaf.requires_grad for leaf in kept.leaves):
        return False
    return any(not kept.leaves.isdisjoint(node.leaves) for walk in recording.walks for node in walk.nodes)


def making(kept: Unregistered) -> ast.Assign | None:
    """The only assignment of the attribute, if it makes the layers itself: what it is given may be trained elsewhere, or hidden on purpose."""
    definition = kept.holder.cls.definition
    stores = [
        part
        for part in (subtree(definition) if definition is not None else ())
        if isinstance(part, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == kept.attribute for target in part.targets)
    ]
    if len(stores) != 1 or len(stores[0].targets) != 1 or definition is None:
        return None
    value = stores[0].value
    made: list[ast.expr] = []
    if isinstance(value, ast.List):
        made = value.elts or appended(definition, kept.attribute)
    elif isinstance(value, ast.ListComp):
        made = [value.elt]
    return stores[0] if made and all(isinstance(each, ast.Call) for each in made) else None


def appended(definition: ast.ClassDef, attribute: str) -> list[ast.expr]:
    """What is appended to an attribute."""
    calls = (part for part in subtree(definition) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute))
    return [
        argument
        for call in calls
        if call.func.attr == "append"  # type: ignore[attr-defined]
        and isinstance(call.func.value, ast.Attribute)  # type: ignore[attr-defined]
        and call.func.value.attr == attribute  # type: ignore[attr-defined]
        for argument in call.args
    ]

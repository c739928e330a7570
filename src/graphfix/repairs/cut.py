"""Cutting the graph where a value is put away: which expressions, and whether as a number or as a tensor."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphfix.analysis.contributors import at_caller, contributors, cut_text, is_tensor_always, stored_nodes
from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Store
from graphfix.model import Append, Operation
from graphfix.repairs.fixes import short


@dataclass(frozen=True)
class Cut:
    """The expressions to cut and how each is cut (`.item()` or `.detach()`)."""

    texts: tuple[tuple[ast.expr, str], ...]

    def operations(self, evidence: Evidence) -> tuple[Operation, ...]:
        return tuple(self.operation(evidence, expression, text) for expression, text in self.texts)

    def operation(self, evidence: Evidence, expression: ast.expr, text: str) -> Operation:
        """`.data` already cuts, but hides the version counter: what is appended takes its place."""
        return Append(evidence.span(expression), text)

    @property
    def title(self) -> str:
        names = dict.fromkeys(f"`{short(ast.unparse(expression), 30)}{text}`" for expression, text in self.texts)
        return f"put away {', '.join(list(names)[:3])}"


def plan(evidence: Evidence, expressions: list[ast.expr], local: bool) -> Cut | None:
    """How to cut `expressions`, all in the same way; None where there are none.

    `local`: every reader of what is stored is simulated, so that a number can be put there where readers allow it.
    """
    if not expressions:
        return None
    texts = {cut_text(evidence.facts, expression, True) for expression in expressions}
    wish = evidence.tape.conventions.accumulate
    numbers = wish != "detach" and (local or wish == "item") and texts == {".item()"} and evidence.needs_tensor is not None
    numbers = numbers and not evidence.needs_tensor & set(expressions)
    return Cut(tuple((expression, ".item()" if numbers else ".detach()") for expression in expressions))


def expressions_to_cut(evidence: Evidence, stores: list[Store]) -> list[ast.expr]:
    """The expressions that bring a graph into what `stores` put away; empty where one of them cannot be cut for sure."""
    facts, program = evidence.facts, evidence.program
    own = stored_nodes(evidence.tape, stores)
    found: dict[ast.expr, None] = {}
    alike = {
        (store.value_site, not store.old, tuple(statement for _, statement in store.trace)): store
        for store in stores
        if store.nodes
    }
    for store in alike.values():
        parts = contributors(facts, store.value_site, own) if store.value_site is not None else []
        if not parts and not store.old and store.value_site is not None:
            parts = contributors(facts, store.value_site, set())  # what the place starts with
        inside = [part for part in parts if evidence.holds(part)]
        if parts and len(inside) == len(parts) and all(is_tensor_always(facts, part) for part in parts):
            found.update(dict.fromkeys(inside))
            continue
        wanted = {node for part in parts for use in facts.uses[part] for node in use.nodes}
        wanted = wanted or set(store.nodes)
        lifted = at_caller(facts, program, store.trace, wanted)
        if not lifted:
            if not parts and set(store.nodes) <= own and store.old:
                continue
            return []
        found.update(dict.fromkeys(lifted))
    return sorted(found, key=lambda e: (e.lineno, e.col_offset))

"""Cutting the graph where a value is put away: which expressions, and whether as a number or as a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from graphfix.codemods.base import Evidence, short
from graphfix.model import Append, Operation
from graphfix.tape.contributors import at_caller, contributors, cut_text, is_tensor_always, stored_nodes
from graphfix.tape.evidence import Store
from graphfix.tape.explore import Tape
from graphfix.tape.machine import Machine
from graphfix.tape.values import Opaque, Plain, Tensor, Value


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


def plan(evidence: Evidence, stores: list[Store], local: bool) -> Cut | None:
    """How to cut what `stores` put into their places; None where no expression can be cut for sure.

    `local`: every reader of the places is simulated, so that a number can be put there where readers allow it.
    """
    expressions = expressions_to_cut(evidence, stores)
    if not expressions:
        return None
    texts = {cut_text(evidence.facts, expression, True) for expression in expressions}
    numbers = local and texts == {".item()"} and numbers_accepted(evidence, expressions)
    return Cut(tuple((expression, ".item()" if numbers else ".detach()") for expression in expressions))


def expressions_to_cut(evidence: Evidence, stores: list[Store]) -> list[ast.expr]:
    facts, program = evidence.facts, evidence.program
    own = stored_nodes(evidence.tape, {store.place for store in stores})
    found: dict[ast.expr, None] = {}
    alike = {(store.value_site, not store.old, tuple(statement for _, statement in store.trace)): store for store in stores}
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
        if lifted is None:
            if not parts and set(store.nodes) <= own and store.old:
                continue
            return []
        found[lifted[0]] = None
    return sorted(found, key=lambda e: (e.lineno, e.col_offset))


def as_number(expression: ast.expr) -> dict:
    def read(m: Machine, node: ast.AST, value: Value) -> Value:
        if isinstance(value, (Tensor, Opaque)):
            return Plain(("cut", node, m.now()), cut=expression)
        return value

    return {expression: read}


def numbers_accepted(evidence: Evidence, expressions: Iterable[ast.expr]) -> bool:
    """Whether every later reader takes a number, found by running the file with the expressions as numbers."""
    overrides: dict = {}
    for expression in expressions:
        overrides.update(as_number(expression))
    trial: Tape = evidence.tape.again(overrides)
    return not trial.truncated and not any(run.evidence.misuses for run in trial.runs)

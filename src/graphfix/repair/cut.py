"""Cutting the graph where a value is put away: which expressions, and whether as a number or as a tensor."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from graphfix.analysis.contributors import cut_text
from graphfix.analysis.evidence import Evidence
from graphfix.effects.table import facts
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.values import Unknown, Value
from graphfix.model import Append, Operation
from graphfix.source.quote import short


@dataclass(frozen=True)
class Cut:
    """The expressions to cut and how each is cut (`.item()` or `.detach()`)."""

    texts: tuple[tuple[ast.expr, str], ...]

    def operations(self, evidence: Evidence) -> tuple[Operation, ...]:
        return tuple(self.operation(evidence, expression, text) for expression, text in self.texts)

    def operation(self, evidence: Evidence, expression: ast.expr, text: str) -> Operation:
        """`.data` already cuts, but hides the version counter: what is appended takes its place."""
        return Append(evidence.program.span(expression), text)

    @property
    def title(self) -> str:
        names = dict.fromkeys(f"`{short(ast.unparse(expression), 30)}{text}`" for expression, text in self.texts)
        return f"store {', '.join(list(names)[:3])}"


def is_object(value: Value) -> bool:
    """Whether something is looked up in a value by a name that tensors do not have: a dict or an object, and no tensor that could be cut."""
    if not isinstance(value, Unknown):
        return False
    read = (name for name, part in value.attributes.items() if isinstance(part, Unknown) and kind_of(part.key) == "attribute")
    return any(isinstance(key, str) for key in value.items) or any(facts(f"torch.Tensor.{name}") is None for name in read)


def plan(evidence: Evidence, expressions: list[ast.expr], local: bool) -> Cut | None:
    """How to cut `expressions`, all in the same way; None where there are none.

    `local`: every reader of what is stored is simulated, so that a number can be put there where readers allow it.
    """
    if not expressions or any(is_object(use.value) for each in expressions for use in evidence.facts.uses.get(each, ())):
        return None
    texts = {cut_text(evidence.facts, expression, True) for expression in expressions}
    wish = evidence.tape.conventions.accumulate
    needed = evidence.needs_tensor if wish != "detach" and (local or wish == "item") and texts == {".item()"} else None
    numbers = needed is not None and not needed & set(expressions)
    return Cut(tuple((expression, ".item()" if numbers else ".detach()") for expression in expressions))

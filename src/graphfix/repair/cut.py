"""Cutting the graph where a value is put away: which expressions, and whether as a number or as a tensor."""

from __future__ import annotations

import ast

from graphfix.analysis.contributors import ARITHMETIC, cut_text
from graphfix.analysis.evidence import Evidence
from graphfix.effects.table import facts
from graphfix.interpreter.interning import kind_of
from graphfix.interpreter.values import Unknown, Value
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Append, Operation
from graphfix.source.quote import short
from graphfix.source.subtree import subtree


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
        names = dict.fromkeys(f"`{short(_before_a_dot(expression), 30)}{text}`" for expression, text in self.texts)
        return f"store {', '.join(list(names)[:3])}"


def _before_a_dot(expression: ast.expr) -> str:
    """The text of an expression, in parentheses where what is appended would belong to its last part."""
    return ast.unparse(ast.Attribute(expression, "x", ast.Load())).removesuffix(".x")


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
    if numbers:
        return Cut(tuple((expression, ".item()") for expression in read_once(evidence, expressions)))
    return Cut(tuple((expression, ".detach()") for expression in expressions))


def read_once(evidence: Evidence, expressions: list[ast.expr]) -> list[ast.expr]:
    """What to read as a number: in the place of several expressions what is computed of them alone, as reading waits for the device."""
    read: dict[ast.expr, None] = {}
    for expression in expressions:
        widest = expression
        above = evidence.program.parent(expression)
        while isinstance(above, ast.BinOp) and isinstance(above.op, ARITHMETIC) and all(_of(side, expressions) for side in (above.left, above.right)):
            widest, above = above, evidence.program.parent(above)
        read[widest if sum(part in expressions for part in subtree(widest)) > 1 else expression] = None
    return list(read)


def _of(expression: ast.expr, parts: list[ast.expr]) -> bool:
    """Whether an expression is one of `parts`, or computed of nothing else but constants."""
    if isinstance(expression, ast.BinOp) and isinstance(expression.op, ARITHMETIC) and expression not in parts:
        return _of(expression.left, parts) and _of(expression.right, parts)
    return expression in parts or isinstance(expression, ast.Constant)

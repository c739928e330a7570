"""The repair for a write that cannot go elsewhere: what saves the tensor before it is written to saves a copy."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, keeps_walks, walks_as_often
from graphfix.analysis.explore import Tape
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.values import Tensor, Value
from graphfix.model import Append, Fix, Ground
from graphfix.repair.fixes import fix
from graphfix.source.quote import short

NAMED = (ast.Name, ast.Attribute, ast.Subscript)


def saving_copy(evidence: Evidence, saver: ast.AST, write: ast.AST) -> Fix | None:
    """Copy the operand of `saver` that `write` overwrites before backward() needs it; None where that leaves the fault, or makes another."""
    for operand in operands(saver):
        if not evidence.program.holds(operand):
            continue
        trial = evidence.tape.replay({operand: as_copy})
        if is_cured(evidence.tape, trial, write):
            name = short(ast.unparse(operand), 30)
            return fix(
                f"compute with `{name}.clone()`",
                Append(evidence.program.span(operand), ".clone()"),
                ground=Ground.RAISES,
                doubt="the gradient is then computed with the values from before the write",
            )
    return None


def operands(saver: ast.AST) -> Iterator[ast.expr]:
    """The named expressions that an operation computes with."""
    parts: list[ast.expr] = []
    if isinstance(saver, ast.BinOp):
        parts = [saver.left, saver.right]
    elif isinstance(saver, ast.Call):
        parts = [*saver.args, *(keyword.value for keyword in saver.keywords)]
        parts += [saver.func.value] if isinstance(saver.func, ast.Attribute) else []
    return (part for part in parts if isinstance(part, NAMED))


def as_copy(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """An expression's value as `.clone()` would make it."""
    return value.copied() if isinstance(value, Tensor) and value.leaf is None else value


def is_cured(before: Tape, after: Tape, write: ast.AST) -> bool:
    """Whether all walks are made, none meets the write any more, and each that worked still carries every gradient."""
    meets = any(each.write.site is write for run in after.runs for walk in run.recording.walks for each in walk.overwritten)
    return keeps_walks(before, after) and walks_as_often(before, after) and not meets

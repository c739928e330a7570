"""What every repair is built with: the fix itself, how sure it is, and source text that goes into it and its title."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.model import Applicability, Fix, Ground, InsertBefore, Operation


def fix(title: str, *operations: Operation, ground: Ground = Ground.UNUSED, doubt: str = "") -> Fix:
    """A repair: safe, or unsafe where there is a `doubt`, which says why."""
    return Fix(Applicability.UNSAFE if doubt else Applicability.SAFE, title, operations, ground, doubt)


def unless(known: bool, doubt: str) -> str:
    """The `doubt` about a fix that is safe only where something is `known`."""
    return "" if known else doubt


def naming_torch(evidence: Evidence, place: ast.AST, *operations: Operation) -> tuple[Operation, ...]:
    """The operations in the file of `place`, headed by an import of torch where they spell its name and the file imports no more than parts of it."""
    document = evidence.program.file_of(place)
    if document.imported_as("torch") is not None:
        return operations
    first = document.importable("torch")
    return operations if first is None else (InsertBefore(evidence.program.span(first), "import torch"), *operations)


def operand(evidence: Evidence, node: ast.expr) -> str:
    """The source of an expression so that an attribute can follow."""
    text = evidence.program.source(node)
    return text if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"

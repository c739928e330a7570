"""Whether an edit has the program do once more what it does already: no repair repeats a call, or a read that runs code."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterable

from graphfix.analysis.evidence import Evidence
from graphfix.ir.origins import origins
from graphfix.model import InsertAfter, InsertBefore, Operation, Replace
from graphfix.source.subtree import subtree

RUNS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
READS = (ast.Attribute, ast.Subscript)


def repeats(evidence: Evidence, operations: Iterable[Operation]) -> bool:
    """Whether an edit says more often than the code that it takes the place of, or again beside it, what runs code."""
    return any(is_repeating(evidence, each) for each in operations)


def is_repeating(evidence: Evidence, operation: Operation) -> bool:
    if isinstance(operation, Replace):
        old = next((node for node in evidence.program.lying_at(operation.span) if isinstance(node, ast.expr)), None)
        before = texts_in(old) if old is not None else Counter()
        tree = parsed(f"({operation.text}\n)") if before else None
        if old is None or tree is None:
            return False
        after = texts_in(tree)
        doubled = [
            part
            for part in subtree(old)
            if isinstance(part, (*RUNS, *READS)) and after[ast.unparse(part)] > before[ast.unparse(part)]
        ]
        return any(runs_code(evidence, part) for part in doubled)
    if isinstance(operation, (InsertBefore, InsertAfter)):
        # what it binds was found where the code binds it, so that this is the second time
        return any(isinstance(part, RUNS) for target in targets_of(operation.text) for part in subtree(target))
    return False


@functools.lru_cache(maxsize=256)
def parsed(text: str) -> ast.Module | None:
    """The tree of what an edit says, which many candidates may say; None where it is no Python by itself."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def texts_in(node: ast.AST) -> Counter[str]:
    """How often a piece of code says what may run code."""
    return Counter(ast.unparse(part) for part in subtree(node) if isinstance(part, (*RUNS, *READS)))


def runs_code(evidence: Evidence, part: ast.AST) -> bool:
    """Whether an expression is a call, or reads what a class of the program computes."""
    if isinstance(part, RUNS):
        return True
    graph, of = evidence.flow.code.call_graph, origins(evidence.program.file_of(part))
    return any(graph.resolve(of.code(part), each).codes for each in of.of(part))


def targets_of(text: str) -> list[ast.expr]:
    """What statements bind."""
    tree = parsed(text) if "(" in text.partition("=")[0] else None  # most bind a plain place
    assigned = (part for part in subtree(tree) if isinstance(part, ast.Assign)) if tree is not None else ()
    return [target for part in assigned for target in part.targets]

"""Code for the mode that a module is not in: the branch of `if self.training:` that a run does not take, or only under `no_grad`.

What such code would do with a value undoes no claim about what the other branch does; it leaves a fix unsafe all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.source.subtree import subtree

LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def of_other_mode(evidence: Evidence, expression: ast.expr) -> frozenset[ast.AST]:
    """All that no run which records what stands at an expression records, as a module is in the mode that it is in there."""
    branches = of_one_mode(evidence)
    if not branches:
        return frozenset()
    statement = evidence.program.statement_of(expression)
    runs = (run.recording.recorded for run in evidence.tape.runs)
    recorded = set().union(*(each for each in runs if statement in each))
    untaken = (branch for question, branch in branches if question in recorded and recorded.isdisjoint(branch))
    return frozenset(part for branch in untaken for each in branch for part in subtree(each))


@asked_once
def of_one_mode(evidence: Evidence) -> list[tuple[ast.If, list[ast.stmt]]]:
    """Each question for the mode of a module with the statements that only one of its answers leads to."""
    found: list[tuple[ast.If, list[ast.stmt]]] = []
    for document in evidence.flow.code.documents.values():
        for part in subtree(document.tree) if "training" in document.words else ():
            for name in ("body", "orelse", "finalbody"):
                block = getattr(part, name, None)
                found.extend(branches_in(block) if isinstance(block, list) else ())
    return found


def branches_in(block: list[ast.stmt]) -> Iterator[tuple[ast.If, list[ast.stmt]]]:
    for number, statement in enumerate(block):
        if isinstance(statement, ast.If) and asks_for_mode(statement.test):
            ends = [branch for branch in (statement.body, statement.orelse) if branch and isinstance(branch[-1], LEAVES)]
            behind = block[number + 1 :] if len(ends) == 1 else []
            yield from ((statement, branch) for branch in (statement.body, statement.orelse, behind) if branch)


def asks_for_mode(test: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "training" for part in subtree(test))

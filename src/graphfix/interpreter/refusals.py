"""What the code would refuse: a run that comes to it has decided something as no run that works does."""

from __future__ import annotations

import ast

from graphfix.interpreter.interpreter import Contradicted, Interpreter
from graphfix.interpreter.values import Sequence
from graphfix.source.subtree import kept_with_node, subtree


def refuse_unbound(m: Interpreter, name: str) -> None:
    """Begin the run anew where a variable is read that has no value as all arms of an `if` were passed by which bind it: one of them is taken."""
    if m.tries or m.corrections <= 0:
        return
    for passed, key in m.recording.passed.items():
        if key in m.decisions and name in bound_by(passed):
            raise Contradicted(key, not m.decisions[key])


@kept_with_node
def bound_by(passed: ast.AST) -> frozenset[str]:
    """The variables that the body of an `if` binds, in the code around it."""
    targets = (target for each in getattr(passed, "body", ()) if isinstance(each, ast.Assign) for target in each.targets)
    return frozenset(part.id for target in targets for part in subtree(target) if isinstance(part, ast.Name))


def refuse_other_kinds(m: Interpreter, receiver: Sequence, name: str) -> None:
    """Begin the run anew where a function has returned a tuple or a list on one side of a branch, and a method is called that these have
    not: code that works takes the other side.
    """
    kind = {"tuple": tuple, "list": list}.get(receiver.kind)
    key = receiver.decided_by
    if kind is not None and not hasattr(kind, name) and not m.tries and m.corrections > 0 and key in m.decisions:
        raise Contradicted(key, not m.decisions[key])

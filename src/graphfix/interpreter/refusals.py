"""What the code would refuse: a run that comes to it has decided something as no run that works does."""

from __future__ import annotations

from graphfix.interpreter.interpreter import Contradicted, Interpreter
from graphfix.interpreter.values import Sequence


def refuse_other_kinds(m: Interpreter, receiver: Sequence, name: str) -> None:
    """Begin the run anew where a function has returned a tuple or a list on one side of a branch, and a method is called that these have
    not: code that works takes the other side.
    """
    kind = {"tuple": tuple, "list": list}.get(receiver.kind)
    key = receiver.decided_by
    if kind is not None and not hasattr(kind, name) and not m.tries and m.corrections > 0 and key in m.decisions:
        raise Contradicted(key, not m.decisions[key])

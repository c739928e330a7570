"""What the results of a repair are measured by, and where they rightly differ from the original's.

A repair computes what its original computes. Where the original dies, that is so up to the walk in which it dies; what comes
after it is compared with a reference: the original, run on in the way that the repair stands for (`probe/reference.py`).
Rules declare with these words what holds for all that they repair; `declared.py` looks it up.
"""

from __future__ import annotations

from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Expected:
    """`reference` is empty where there is nothing to run on; then `reason` says why the results cannot be the same.

    `losses` is false where walks have no counterparts, because the repair joins or drops some: printed numbers and parameters
    decide then. `strict`: the same parameters get gradients from the first walks on. `joins`: the rule's repairs may join,
    drop or add walks, so that those of a user's script are not compared one by one.
    """

    reference: str = ""
    reason: str = ""
    losses: bool = True
    strict: bool = False
    joins: bool = False


SAME = Expected()
CUT = Expected("cut")

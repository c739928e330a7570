"""A repair that may be right: what it does to the graph, and the edit that does it."""

from __future__ import annotations

import ast
import enum

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Fix, Ground, Operation
from graphfix.repair.fixes import fix


class Effect(enum.Enum):
    """What a repair does to the graph."""

    WIDEN = "lets a reset that is there reach all that it is meant for"
    LIMIT = "limits each backward pass to the parameters that its own optimizer steps"
    JOIN = "goes backward once, through the sum of the losses"
    REMOVE = "takes a needless backward pass away"
    INSIDE = "computes it in each iteration"
    PART = "goes backward through the new part of a total"
    RESET = "starts anew in each iteration"
    CUT = "cuts the graph of earlier iterations"
    MOVE = "takes the gradients before the parameters change"
    RETAIN = "keeps the graph for the backward pass that follows"
    REDUCE = "makes one number of the losses of all samples"
    UNRECORDED = "changes a leaf without recording it"
    WHOLE = "asks for the gradient of the whole"
    REGISTER = "makes layers a part of their module"
    COPY = "writes to a copy"
    UNCUT = "lets the graph go on where it was cut"
    RECOMPUTE = "runs a part of the forward pass again"


@dataclass(frozen=True)
class Candidate:
    """An edit that may repair a fault.

    `doubt`: why it may not be what was meant; empty where its proof alone decides whether it is safe. `is_reasoned`: whether what makes it
    has seen that it ends the fault, so that it may be offered where no trial can be made. `constant_in`: the loop whose iterations take
    what was computed before it as a constant.
    """

    effect: Effect
    title: str
    operations: tuple[Operation, ...]
    ground: Ground
    doubt: str = ""
    is_reasoned: bool = False
    constant_in: ast.AST | None = None

    @property
    def fix(self) -> Fix:
        return fix(self.title, *self.operations, ground=self.ground, doubt=self.doubt)


def reasoned(effect: Effect, title: str, *operations: Operation, ground: Ground, doubt: str = "") -> Candidate:
    """A candidate whose conditions are checked where it is made."""
    return Candidate(effect, title, operations, ground, doubt, is_reasoned=True)

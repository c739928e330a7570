"""A repair that may be right: what it does to the graph, and the edit that does it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from graphfix.model import Ground, Operation


class Effect(enum.Enum):
    """What a repair does to the graph."""

    PART = "goes backward through the new part of a total"
    RESET = "starts anew in each iteration"
    CUT = "cuts the graph of earlier iterations"
    MOVE = "takes the gradients before the parameters change"
    RETAIN = "keeps the graph for the backward pass that follows"
    RECOMPUTE = "runs a part of the forward pass again"
    OTHER = "what its rule proposes"


@dataclass(frozen=True)
class Candidate:
    """An edit that may repair a fault. `doubt`: why it may not be what was meant."""

    effect: Effect
    title: str
    operations: tuple[Operation, ...]
    ground: Ground
    doubt: str

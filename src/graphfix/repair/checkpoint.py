"""Letting a reentrant checkpoint record although none of its inputs needs a gradient."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.autograd.severed import Severed
from graphfix.model import AddArgument, Append, Operation

MEANT_TO_TRAIN = "what runs in the checkpoint is trained from then on, and may be meant to stay as it is"


def recorded_anyway(evidence: Evidence, cut: Severed, checkpoint: ast.Call) -> tuple[str, tuple[Operation, ...]]:
    """What is done, and the edit.

    What a frozen layer has made is told to require grad, which keeps the checkpoint as it is. Of an input that is data the program keeps
    the tensor itself, and may do with it what needs one without a graph, so there the checkpoint asks its parameters, too.
    https://docs.pytorch.org/docs/stable/checkpoint.html
    """
    program, given = evidence.program, checkpoint.args[1] if len(checkpoint.args) == 2 else None
    if cut.leaf is not None and isinstance(given, ast.Name):
        return f"let `{given.id}` require grad", (Append(program.span(given), ".requires_grad_()"),)
    return "record in the checkpoint, whatever its inputs are", (AddArgument(program.span(checkpoint), "use_reentrant", "False"),)

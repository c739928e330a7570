"""How an evaluation is kept from recording, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.region import Region
from graphfix.model import Decorate, Label, Operation, Wrap
from graphfix.repairs.fixes import naming_torch, short


def no_grad_around(evidence: Evidence, held: Region) -> tuple[str, tuple[Operation, ...]] | None:
    """The title and the operations that put it under `no_grad`; None where the file cannot name torch."""
    torch = evidence.regions.torch
    if torch is None:
        return None
    function = held.function
    if function is not None:
        operation: Operation = Decorate(evidence.span(function), f"{torch}.no_grad()")
        return f"run `{short(function.name)}` under no_grad", naming_torch(evidence, operation)
    operation = Wrap(tuple(evidence.span(part) for part in held.parts), f"with {torch}.no_grad():")
    return "run it under no_grad", naming_torch(evidence, operation)


def story_of(evidence: Evidence, held: Region) -> Iterator[Label]:
    """The first forward pass, and where its module was put into evaluation mode, if that is in the evaluation or beside it."""
    yield evidence.label(held.first, "records a graph for no backward()")
    if not held.evaluates:
        return
    for run in evidence.tape.runs:
        for event in run.recording.modes:
            if event.training is False and evidence.holds(event.site):
                yield evidence.label(event.site, "evaluation mode does not stop the recording")
                return

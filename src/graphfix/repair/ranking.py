"""Of two repairs that hold, which one an expert would write."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause
from graphfix.model import Span
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.trial import Verdict
from graphfix.repair.witness import Witness
from graphfix.source.homes import spans_of
from graphfix.source.subtree import subtree

# what carries state from one iteration to the next is read by the forward pass: a reset would change its numbers, a cut does not;
# what a container gathers for one backward pass is gathered anew for the next one
ORDERS = {
    Cause.CARRIED: (Effect.OTHER, Effect.CUT, Effect.PART, Effect.RESET),
    Cause.KEPT: (Effect.RESET, Effect.OTHER, Effect.CUT, Effect.PART),
    Cause.TOTAL: (Effect.RESET, Effect.PART, Effect.OTHER, Effect.CUT),
}
ORDER = (Effect.OTHER, Effect.CUT, Effect.RESET, Effect.PART)
LOGGED = (Effect.PART, Effect.RESET, Effect.OTHER, Effect.CUT)  # a total that is read behind the loop, too
LAST = (Effect.MOVE, Effect.RETAIN, Effect.RECOMPUTE)


def rank(evidence: Evidence, witness: Witness, candidate: Candidate, verdict: Verdict) -> tuple[int, ...]:
    """The smaller, the better: what trains more comes first, then what the fault's cause suggests, then the shorter edit."""
    order = LOGGED if witness.cause is Cause.TOTAL and is_logged(evidence, witness) else ORDERS.get(witness.cause, ORDER)
    size = sum(len(getattr(each, "text", "") or getattr(each, "value", "")) for each in candidate.operations)
    return -verdict.trained, (*order, *LAST).index(candidate.effect), len(candidate.operations), size


def is_logged(evidence: Evidence, witness: Witness) -> bool:
    """Whether a total is read outside of the loop whose iterations meet in it."""
    loop = witness.loop
    if loop is None or not evidence.program.holds(loop):
        return False
    scope = evidence.program.enclosing(loop, (ast.FunctionDef, ast.AsyncFunctionDef)) or evidence.program.tree_of(loop)
    inside = set(subtree(loop))
    return any(
        isinstance(part, ast.Name) and part.id in witness.carriers and isinstance(part.ctx, ast.Load) and part not in inside
        for part in subtree(scope)
    )


def rank_kept(candidate: Candidate, blamed: Span) -> tuple[int, ...]:
    """The same for the cut of a graph that is kept: in the statement that the finding blames, then the shorter edit of less."""
    spans = [span for each in candidate.operations for span in spans_of(each)]
    is_there = all(span.path == blamed.path and blamed.start <= span.start and span.end <= blamed.end for span in spans)
    size = sum(len(getattr(each, "text", "")) for each in candidate.operations)
    return not is_there, len(candidate.operations), size, sum(span.end - span.start for span in spans)

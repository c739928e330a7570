"""Of two repairs that hold, which one an expert would write."""

from __future__ import annotations

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.old_totals import is_shown
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.model import Span
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.parts import is_logged
from graphfix.repair.trial import Verdict
from graphfix.repair.witness import Witness
from graphfix.source.homes import spans_of

# what carries state from one iteration to the next is read by the forward pass: a reset would change its numbers, a cut does not;
# what a container gathers for one backward pass is gathered anew for the next one
ORDERS = {
    Cause.CARRIED: (Effect.WIDEN, Effect.CUT, Effect.PART, Effect.RESET),
    Cause.TOTAL: (Effect.RESET, Effect.PART, Effect.CUT),
    Cause.KEPT: (Effect.RESET, Effect.CUT, Effect.PART),
}
LOGGED = (Effect.PART, Effect.RESET, Effect.CUT)  # a total that is read for itself, too, in the loop or behind it
ORDER = (Effect.LIMIT, Effect.JOIN, Effect.REMOVE, Effect.INSIDE, Effect.CUT, Effect.RESET, Effect.PART)
# where a value is a constant for one reader, and trained by another, and the code does not show which was meant
LEFT_OPEN = (Cause.EXTERNAL, Cause.SEQUENTIAL)
# effects that train alike
ALIKE = ({Effect.LIMIT, Effect.MOVE}, {Effect.INSIDE, Effect.RECOMPUTE}, {Effect.JOIN, Effect.RETAIN})
LAST = (Effect.MOVE, Effect.RETAIN, Effect.RECOMPUTE)


def rank(evidence: Evidence, witness: Witness, candidate: Candidate, verdict: Verdict, blamed: Span) -> tuple[int, ...]:
    """The smaller, the better: what is meant as a constant is cut, else what trains more comes first, then what the fault's cause suggests.

    Of equal ones the edit comes first that is argued for, then that in the file that is `blamed`, then the shorter one.
    """
    size = sum(len(getattr(each, "text", "") or getattr(each, "value", "")) for each in candidate.operations)
    is_there = all(span.path == blamed.path for each in candidate.operations for span in spans_of(each))
    merit = candidate.constant_in is None, -verdict.trained, order_of(evidence, witness).index(candidate.effect)
    return *merit, not candidate.is_reasoned, not is_there, len(candidate.operations), size


def trains_alike(one: Effect, two: Effect) -> bool:
    """Whether repairs of these effects train in the same way."""
    return one is two or any({one, two} <= group for group in ALIKE)


def order_of(evidence: Evidence, witness: Witness) -> tuple[Effect, ...]:
    """All effects, that which the cause of a fault suggests first, and those that no order names last."""
    walk = witness.shown
    is_log = False
    if isinstance(walk, SecondBackward) and walk.cause is Cause.TOTAL:
        is_log = is_logged(evidence, witness) or any(is_shown(evidence, walk, name) for name in walk.carriers)
    first = LOGGED if is_log else ORDERS.get(witness.cause, ())
    return tuple(dict.fromkeys((*first, *ORDER, *LAST, *Effect)))


def rank_kept(candidate: Candidate, blamed: Span) -> tuple[int, ...]:
    """The same for the cut of a graph that is kept: in the statement that the finding blames, then the shorter edit of less."""
    spans = [span for each in candidate.operations for span in spans_of(each)]
    is_there = all(span.path == blamed.path and blamed.start <= span.start and span.end <= blamed.end for span in spans)
    size = sum(len(getattr(each, "text", "")) for each in candidate.operations)
    return not is_there, len(candidate.operations), size, sum(span.end - span.start for span in spans)

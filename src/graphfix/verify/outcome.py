"""How a program ended, and what two ends of it, before and after a repair, show of the repair: a table."""

from __future__ import annotations

import enum
from collections.abc import Mapping

from graphfix.verify.record import Ending, Failure, Run

_OF_THE_GRAPH = (
    "backward through the graph a second time", "modified by an inplace operation", "non-leaf Tensor", "0-dim tensor", "Mismatch in shape",
    "retain_variables",
)  # fmt: skip
_OF_MEMORY = ("MemoryError", "OutOfMemoryError")


class End(enum.Enum):
    """The ways in which a run can end, as far as they tell different things of a repair."""

    CLEAN = "finished"
    GRAPH = "raised what a misused graph raises"
    MEMORY = "raised that there is no memory left"
    OWN = "raised another error, or exited with a code"
    LATE = "did not finish in time"
    KILLED = "was ended by a signal or a limit"
    LOST = "was interrupted, or left no report"


class Shows(enum.Enum):
    """What two ends show."""

    RESULTS = "the repair is as good as its results"
    SAME = "both end in an error: where it is the same one, the results up to there decide"
    FURTHER = "the error is gone: the results decide where the repaired program has come further than it"
    STILL = "the repair falls short: the program failed, and fails"
    WORSE = "the repair falls short: the program did not fail in this way"
    EARLIER = "the repair falls short where the repaired program has come less far, else nothing"
    NOTHING = "nothing"


_E, _S = End, Shows
_NEVER = dict.fromkeys(End, Shows.NOTHING)
# how the original ended -> how the repaired program did
TABLE: Mapping[End, Mapping[End, Shows]] = {
    End.CLEAN: {
        _E.CLEAN: _S.RESULTS, _E.GRAPH: _S.WORSE, _E.MEMORY: _S.WORSE, _E.OWN: _S.WORSE, _E.LATE: _S.WORSE, _E.KILLED: _S.WORSE,
        _E.LOST: _S.NOTHING,
    },
    End.GRAPH: {
        _E.CLEAN: _S.RESULTS, _E.GRAPH: _S.STILL, _E.MEMORY: _S.STILL, _E.OWN: _S.STILL, _E.LATE: _S.FURTHER, _E.KILLED: _S.WORSE,
        _E.LOST: _S.NOTHING,
    },
    # what a graph that grows comes to
    End.MEMORY: {
        _E.CLEAN: _S.RESULTS, _E.GRAPH: _S.WORSE, _E.MEMORY: _S.STILL, _E.OWN: _S.STILL, _E.LATE: _S.FURTHER, _E.KILLED: _S.STILL,
        _E.LOST: _S.NOTHING,
    },
    # no repair takes it away: whether the repaired program would have come to it, nobody knows
    End.OWN: {
        _E.CLEAN: _S.RESULTS, _E.GRAPH: _S.WORSE, _E.MEMORY: _S.WORSE, _E.OWN: _S.SAME, _E.LATE: _S.NOTHING, _E.KILLED: _S.WORSE,
        _E.LOST: _S.NOTHING,
    },
    End.LATE: {
        _E.CLEAN: _S.RESULTS, _E.GRAPH: _S.WORSE, _E.MEMORY: _S.WORSE, _E.OWN: _S.EARLIER, _E.LATE: _S.RESULTS, _E.KILLED: _S.WORSE,
        _E.LOST: _S.NOTHING,
    },
    End.KILLED: _NEVER,
    End.LOST: _NEVER,
}  # fmt: skip
_BY_ENDING = {
    Ending.LATE: End.LATE, Ending.KILLED: End.KILLED, Ending.TERMINATED: End.KILLED, Ending.RUNNING: End.KILLED,
    Ending.LOST: End.LOST, Ending.INTERRUPTED: End.LOST,
}  # fmt: skip


def end_of(run: Run) -> End:
    """The way in which a run ended."""
    if run.ending in _BY_ENDING:
        return _BY_ENDING[run.ending]
    failure = failure_of(run)
    if failure is None:
        return End.CLEAN
    if is_of_the_graph(failure):
        return End.GRAPH
    is_memory = failure.kind.rpartition(".")[2] in _OF_MEMORY or "out of memory" in failure.message
    return End.MEMORY if is_memory else End.OWN


def shown(before: Run, after: Run) -> Shows:
    """What the ends of two runs show of a repair."""
    return TABLE[end_of(before)][end_of(after)]


def is_of_the_graph(failure: Failure) -> bool:
    """Whether autograd raised it, or what is left of torch's old interfaces."""
    return any(word in failure.message for word in _OF_THE_GRAPH)


def failure_of(run: Run) -> Failure | None:
    """What ended a run other than as one wishes."""
    if run.ending is Ending.EXITED:
        # what a command line parser and the like say before they give up
        place = run.failure or Failure("", "")
        return Failure(f"exit code {run.exit_code}", run.stderr.strip().rpartition("\n")[2], place.file, place.line)
    if run.failure is not None:
        return run.failure
    return run.thread_failures[0] if run.thread_failures else None


def said(failure: Failure | None) -> str:
    """An error in one line, with its place."""
    if failure is None:
        return "an error"
    place = f" ({failure.file}:{failure.line})" if failure.file and failure.line else ""
    text = str(failure)
    return (text if len(text) <= 100 else text[:97] + "...") + place


def said_of(run: Run) -> str:
    """How a run ended, as what is told of a program."""
    end, failure = end_of(run), failure_of(run)
    if end is End.LATE:
        return "did not finish in time"
    if end in (End.KILLED, End.LOST):
        return f"was {run.ending.value}" + (f": {said(failure)}" if failure is not None else "")
    return "finishes" if failure is None else f"ends in {said(failure)}"

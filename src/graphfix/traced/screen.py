"""The error that a run ended in, and what of the run belongs to it."""

from __future__ import annotations

from graphfix.autograd.symptoms import Raises
from graphfix.lazy_dataclass import dataclass
from graphfix.traced.record import Failure, Place, Trace
from graphfix.verify import record
from graphfix.verify.record import Ending


@dataclass(frozen=True)
class Meaning:
    """What an error means, and what is to be done about it, each in a sentence or two."""

    brief: str
    repair: str


def shown(trace: Trace) -> tuple[record.Failure, ...]:
    """The errors on the screen: that of the program, or those of its threads; none where it ended without."""
    if trace.run.ending is Ending.FAILED and trace.run.failure is not None:
        return (trace.run.failure,)
    return trace.run.thread_failures


def is_full(trace: Trace) -> bool:
    """Whether the program ended because there was no memory left: what it kept is the cause then."""
    return any("out of memory" in failure.message or failure.kind == "MemoryError" for failure in shown(trace))


def hides(trace: Trace) -> bool:
    """Whether the error on the screen has another cause than what the run kept or built for nothing."""
    return bool(shown(trace)) and not is_full(trace)


def refused(trace: Trace) -> tuple[Failure, ...]:
    """The refused backward passes, and other errors that the run tells of, that are on the screen; all of them where no error is."""
    messages = {failure.message for failure in shown(trace)}
    return tuple(failure for failure in trace.failures if not messages or failure.message in messages)


def unrefused(trace: Trace) -> record.Failure | None:
    """The error on the screen where it is none of a refused backward pass."""
    return next(iter(shown(trace)), None) if not refused(trace) else None


def caught(trace: Trace) -> tuple[Failure, ...]:
    """The refused backward passes that the program went on from."""
    return tuple(failure for failure in trace.failures if failure not in refused(trace))


def places(trace: Trace) -> list[Place]:
    """The lines that the error on the screen runs through, the most telling first."""
    found: list[Place | None] = []
    for failure in refused(trace):
        found += [failure.crossing, failure.cut and failure.cut.place, failure.now, failure.made, failure.freed, failure.write, *failure.path]
    other = unrefused(trace)
    if other is not None and other.file is not None and other.line is not None:
        found.append(Place(other.file, other.line))
    return [place for place in found if place is not None]


def is_raised(symptom: object, trace: Trace) -> bool:
    """Whether a fault that shows as `symptom` shows as the error on the screen, or as one that was refused."""
    if not isinstance(symptom, Raises):
        return False
    told = shown(trace) or tuple(record.Failure("RuntimeError", failure.message) for failure in trace.failures)
    return any(failure.kind == symptom.error and failure.message.startswith(symptom.message) for failure in told)

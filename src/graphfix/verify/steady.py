"""Whether a program does the same each time: before a fix is blamed, the original is run once more."""

from __future__ import annotations

from dataclasses import replace

from graphfix.verify.outcome import failure_of, is_of_the_graph, said
from graphfix.verify.record import Ending, Run
from graphfix.verify.script import Trial, Verdict, compared_as_far_as_they_go


def doubtful(trial: Trial) -> bool:
    """Whether what the trial shows may be the program's own doing, so that a second run of the original is worth its time."""
    if trial.verdict is Verdict.SHORT:
        return not trial.results  # equal results, and a graph that grows: not by chance
    return trial.verdict is Verdict.GOOD and _went_away(trial)


def _went_away(trial: Trial) -> bool:
    """Whether an error is gone that no fix takes away, such as that of a connection."""
    failure = failure_of(trial.before)
    if failure is None or trial.before.ending is Ending.LATE or is_of_the_graph(failure):
        return False
    return failure_of(trial.after) is None


def reconsidered(trial: Trial, again: Run) -> Trial:
    """The trial in the light of `again`, a second run of the original: no verdict where that is another one than the first."""
    if trial.verdict is Verdict.GOOD:
        # a run that went out of memory may do so somewhere else: that it fails again is enough
        why = _ends(trial.before, again) if failure_of(again) is None else ""
    else:
        why = varies(trial.before, again)
    return replace(trial, verdict=Verdict.NONE, reason=why) if why else trial


def varies(first: Run, second: Run, numbers: bool = True) -> str:
    """How two runs of one program differ, "" where they do not; `numbers=False` where what they print is no result."""
    if _end(first) != _end(second):
        return _ends(first, second)
    compared = compared_as_far_as_they_go(first, second, ()) if numbers else None
    if compared is None or compared.equal or not compared.compared:
        return ""
    return (
        f"your program computes other numbers in each run (two runs of the original: {compared.reason}); "
        "set its seeds, and print no times"
    )


def _ends(first: Run, second: Run) -> str:
    return f"your program does not always end in the same way (two runs of the original: {_told(first)}, and {_told(second)} after)"


def _end(run: Run) -> str:
    """What two runs of one program have in common at their end: the words of an error may have addresses and times in them."""
    failure = failure_of(run)
    return failure.kind if failure is not None and run.ending is not Ending.LATE else run.ending.value


def _told(run: Run) -> str:
    failure = failure_of(run)
    return said(failure) if failure is not None and run.ending is not Ending.LATE else run.ending.value

"""The original beside its repair: is the error gone, are the results the same, does the graph stay flat?"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from graphfix.verify.compare import Comparison, compare
from graphfix.verify.declared import joins_walks
from graphfix.verify.record import Ending, Failure, Run
from graphfix.verify.shown import grows

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")  # of an object: another one in each run


class Verdict(str, enum.Enum):
    """What two runs show."""

    GOOD = "verified"
    SHORT = "falls short"
    NONE = "no verdict"


@dataclass(frozen=True)
class Trial:
    """Two runs of one command, `before` with the user's files and `after` with the repaired ones."""

    before: Run
    after: Run
    verdict: Verdict
    reason: str = ""
    results: str = ""

    @property
    def equal(self) -> bool:
        return not self.reason


def judge(before: Run, after: Run, codes: Collection[str] = ()) -> Trial:
    """What the runs show of a repair by the rules `codes`."""
    why = no_verdict(before, after, codes)
    if why:
        return Trial(before, after, Verdict.NONE, why)
    failure, alike = failure_of(after), ends_alike(before, after, codes)
    if failure is not None and after.ending is not Ending.LATE and not alike:
        same = failure_of(before)
        still = (
            "still ends in" if same is not None and (same.kind, same.message) == (failure.kind, failure.message) else "ends in"
        )
        return Trial(before, after, Verdict.SHORT, f"the repaired code {still} {said(failure)}")
    compared = compared_as_far_as_they_go(before, after, codes)
    if not compared.equal and compared.compared:
        return Trial(before, after, Verdict.SHORT, f"other results: {compared.reason}")
    if alike and not compared.compared:
        return Trial(before, after, Verdict.NONE, f"the script fails with and without the fixes: {said(failure)}")
    if grows(after):
        return Trial(before, after, Verdict.SHORT, "the graph still grows", told(compared, before))
    return Trial(before, after, Verdict.GOOD, results=told(compared, before))


def no_verdict(before: Run, after: Run, codes: Collection[str] = ()) -> str:
    """Why these runs say nothing about a repair; empty where they do."""
    for run in (before, after):
        if run.ending in (Ending.LOST, Ending.INTERRUPTED, Ending.KILLED):
            return f"the run was {run.ending.value}: {said(run.failure)}" if run.failure else f"the run was {run.ending.value}"
    if ends_alike(before, after, codes) and not (before.walk_count and after.walk_count):
        return f"the script fails with and without the fixes: {said(failure_of(before))}"
    if before.torch is None and after.torch is None and before.walk_count == 0:
        return "the script never imported torch"
    if before.walk_count == 0 and after.walk_count == 0:
        return "no backward pass finished" + (" in the time that it had" if Ending.LATE in (before.ending, after.ending) else "")
    return ""


def ends_alike(before: Run, after: Run, codes: Collection[str]) -> bool:
    """Whether both runs end in one failure that is the program's own: no fix has brought it, and none would take it away."""
    ours, theirs = failure_of(before), failure_of(after)
    if (
        ours is None
        or theirs is None
        or before.ending is not after.ending
        or before.ending is Ending.LATE
        or is_of_the_graph(ours)
    ):
        return False
    if before.walk_count != after.walk_count and not joins_walks(codes):
        return False
    if ours.kind == theirs.kind and ours.kind.startswith("exit code"):
        return True  # whatever was written last, such as a bar of progress with its times
    return ours.kind == theirs.kind and ADDRESS.sub("", ours.message) == ADDRESS.sub("", theirs.message)


def is_of_the_graph(failure: Failure) -> bool:
    """Whether autograd raised it, or what is left of torch's old interfaces."""
    words = ("backward through the graph a second time", "modified by an inplace operation", "non-leaf Tensor", "0-dim tensor",
             "Mismatch in shape", "retain_variables")  # fmt: skip
    return any(word in failure.message for word in words)


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


def compared_as_far_as_they_go(before: Run, after: Run, codes: Collection[str]) -> Comparison:
    """Compare what both runs reached: one that died, or ran out of time, is compared up to its end."""
    walks = not joins_walks(codes)
    if ends_alike(before, after, codes):
        return compare(_ended(before), _ended(after), walks)
    if before.ending is Ending.LATE or after.ending is Ending.LATE:
        steps = min(before.walk_count, after.walk_count)
        before = replace(before, ending=Ending.FAILED, failure=before.failure or Failure("late", ""), walk_count=steps)
        # the last line may have been cut short
        before = replace(before, stdout=_common(before.stdout, after.stdout), walks=before.walks[:steps])
        return compare(before, replace(after, ending=Ending.FINISHED, failure=None), walks)
    if before.thread_failures or before.ending is Ending.EXITED:
        before = replace(before, ending=Ending.FAILED, failure=failure_of(before))
    return compare(before, after, walks)


def _ended(run: Run) -> Run:
    """The run as one that came to its end: what the other one is to match is all of it."""
    return replace(run, ending=Ending.FINISHED, failure=None, thread_failures=())


def _common(ours: str, theirs: str) -> str:
    """The whole lines of `ours` for which the other run has a line, too."""
    lines, others = ours.splitlines(keepends=True), theirs.splitlines(keepends=True)
    return "".join(lines[: max(0, min(len(lines), len(others)) - 1)])


def told(compared: Comparison, before: Run) -> str:
    """How the results compare, in words."""
    if not compared.compared:
        return "nothing to compare before the error"
    numbers = f"{compared.compared} number{'s' * (compared.compared != 1)}"
    steps = f"{compared.steps} backward pass{'es' * (compared.steps != 1)}"
    return f"equal: {numbers}" if before.clean else f"equal up to its end: {numbers} over {steps}"

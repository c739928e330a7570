"""The original beside its repair: is the error gone, are the results the same, does the graph stay flat?"""

from __future__ import annotations

import enum
import re
from collections.abc import Collection
from dataclasses import replace

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.compare import Comparison, compare
from graphfix.verify.declared import joins_walks
from graphfix.verify.outcome import End, Shows, end_of, failure_of, is_of_the_graph, said, said_of, shown
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
    what, alike = shown(before, after), ends_alike(before, after, codes)
    verdict, reason = _by_ends(what, alike, before, after)
    if not reason:
        verdict, reason = Verdict.NONE, _nothing_to_compare(before, after, alike)
    if reason:
        return Trial(before, after, verdict, reason)
    compared = compared_as_far_as_they_go(before, after, codes)
    if not compared.equal and compared.compared:
        return Trial(before, after, Verdict.SHORT, f"other results: {compared.reason}")
    if alike and not compared.compared:
        return Trial(before, after, Verdict.NONE, f"the script fails with and without the fixes: {said(failure_of(after))}")
    if grows(after):
        return Trial(before, after, Verdict.SHORT, "the graph still grows", told(compared, before))
    return Trial(before, after, Verdict.GOOD, results=told(compared, before))


def _by_ends(what: Shows, alike: bool, before: Run, after: Run) -> tuple[Verdict, str]:
    """The verdict that the ends alone give, and why; no reason where the results decide."""
    reason = f"the fixed program {said_of(after)}"
    if what is Shows.WORSE:
        clean = end_of(before) is End.CLEAN and end_of(after) is End.LATE
        return Verdict.SHORT, reason + (f", and the original ends after {before.seconds:.1f} s" if clean else "")
    if what is Shows.STILL or what is Shows.SAME and not alike:
        ours, theirs = failure_of(before), failure_of(after)
        same = ours is not None and theirs is not None and (ours.kind, ours.message) == (theirs.kind, theirs.message)
        return Verdict.SHORT, reason.replace("ends in", "still ends in", 1) if same else reason
    further = after.walk_count > before.walk_count
    if what is Shows.EARLIER and after.walk_count < before.walk_count:
        return Verdict.SHORT, reason
    if what in (Shows.NOTHING, Shows.EARLIER) or what is Shows.FURTHER and not further:
        ended = (End.KILLED, End.LOST)
        gone = next((run for run in (before, after) if end_of(run) in ended), None)
        return Verdict.NONE, f"the run {said_of(gone)}" if gone else f"the original {said_of(before)}, and {reason}"
    return Verdict.GOOD, ""


def _nothing_to_compare(before: Run, after: Run, alike: bool) -> str:
    """Why runs of which the results decide have none; empty where they have."""
    if alike and not (before.walk_count and after.walk_count):
        return f"the script fails with and without the fixes: {said(failure_of(before))}"
    if before.walk_count or after.walk_count:
        return ""
    if before.torch is None and after.torch is None:
        late = Ending.LATE in (before.ending, after.ending)
        return "the script had not imported torch when its time was over" if late else "the script never imported torch"
    return "no backward pass finished" + (" in the time that it had" if Ending.LATE in (before.ending, after.ending) else "")


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
    """The run as one that finished: what the other one is to match is all of it."""
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

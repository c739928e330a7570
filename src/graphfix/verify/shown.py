"""How faults show in the runs of scripts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphfix.autograd.symptoms import (
    GROWS,
    MAKES_MORE,
    OLD_NUMBER,
    RETAINS,
    UNTRAINED,
    UNWALKED,
    WALKS_MORE,
    Raises,
    Symptom,
    Warns,
)
from graphfix.verify.cases import Case
from graphfix.verify.compare import parameters_of
from graphfix.verify.record import Run

STEPS = 4  # in a row, before a rise counts as growth


def grows(run: Run) -> bool:
    """Whether the count of live nodes rises from walk to walk by the same call: several calls in one step have each a level of their own."""
    levels: dict[tuple[str, int], list[int]] = {}
    for walk in run.walks:
        levels.setdefault((walk.file, walk.line), []).append(walk.live)
    return any(longest_rise(counts) >= STEPS for counts in levels.values())


def longest_rise(counts: Sequence[int]) -> int:
    longest = length = 1
    for earlier, later in zip(counts, counts[1:]):
        length = length + 1 if later > earlier else 1
        longest = max(longest, length)
    return longest


def raises(run: Run, kind: Raises) -> bool:
    return run.failure is not None and run.failure.kind == kind.error and kind.message in run.failure.message


def warns(run: Run, kind: Warns) -> bool:
    return any(message.startswith(kind.message) for message in run.warnings)


def raised(shows: Collection[Symptom], run: Run) -> str:
    """The symptom, where it is an error that the rule is about, or a warning of torch's old names."""
    for kind in shows:
        if isinstance(kind, Raises) and raises(run, kind):
            place = f" in line {run.failure.line}" if run.failure and run.failure.line else ""
            return (kind.title or kind.error) + place
        if isinstance(kind, Warns) and warns(run, kind):
            return f"warns: {kind.title}"
    return ""


def symptom(case: Case, shows: Collection[Symptom], before: Run, after: Run | None) -> str:
    """What of all that the rule shows by tells that `before` is at fault and `after` is not; empty where nothing does."""
    if case.optional:
        return _of_old_code_that_works(shows, before, after)
    if before.failure is not None or any(isinstance(kind, Warns) for kind in shows):
        return raised(shows, before) if after is None or not raised(shows, after) else ""
    if after is None or not before.clean:
        return ""
    if MAKES_MORE in shows:
        return f"makes {before.made} nodes for {after.made}" if before.made > after.made else ""
    if UNTRAINED in shows:
        return "other parameters at the end" if parameters_of(before, after)[1] else ""
    if UNWALKED in shows:
        fewer = before.walk_count < after.walk_count and bool(parameters_of(before, after)[1])
        return f"{before.walk_count} backward passes for {after.walk_count}, other parameters" if fewer else ""
    if GROWS in shows and grows(before):
        return "live nodes grow"
    if RETAINS in shows and sum(before.saved) > sum(after.saved) and _never_less(before.saved, after.saved):
        return "keeps saved tensors"
    gone = [sum(walk.freed for walk in run.walks) for run in (before, after)]
    return f"walks {gone[0]} nodes for {gone[1]}" if WALKS_MORE in shows and gone[0] > gone[1] else ""


def _of_old_code_that_works(shows: Collection[Symptom], before: Run, after: Run | None) -> str:
    """Such code runs as well as its modern form; some of it is warned of."""
    if not before.clean or after is None or warns(after, OLD_NUMBER):
        return ""
    if OLD_NUMBER in shows:
        return f"warns: {OLD_NUMBER.title}" if warns(before, OLD_NUMBER) else ""
    return "" if warns(before, OLD_NUMBER) else "none: old spelling"


def _never_less(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return len(before) == len(after) and all(kept >= freed for kept, freed in zip(before, after))


def faults(run: Run) -> list[str]:
    """What is wrong with a run that should be right."""
    if run.failure is not None:
        where = f" (line {run.failure.line})" if run.failure.line else ""
        return [f"{run.failure}"[:120] + where]
    if not run.clean:
        return [f"{run.ending.value}, an error in a thread" if run.thread_failures else run.ending.value]
    if not run.walks:
        return ["no backward pass finished"]
    return ["live nodes grow"] if grows(run) else []

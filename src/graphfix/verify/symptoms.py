"""How a fault shows in a run, rule by rule."""

from __future__ import annotations

from graphfix.verify.cases import Case
from graphfix.verify.record import Run

SECOND_WALK = ("RuntimeError", "Trying to backward through the graph a second time")
IN_PLACE = ("RuntimeError", "one of the variables needed for gradient computation has been modified by an inplace operation")
NON_LEAF = ("ValueError", "can't optimize a non-leaf Tensor")
NO_ELEMENTS = ("IndexError", "")
OLD_ARGUMENT = ("TypeError", "Tensor.backward() got an unexpected keyword argument 'retain_variables'")
OLD_SHAPE = ("RuntimeError", "Mismatch in shape")
OLD_FLAG = "volatile was removed and now has no effect"
OLD_NUMBER = "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior"
# rules by how their faults show where they raise nothing
GROWING = {"GF101", "GF102", "GF306"}
RETAINED = {"GF102", "GF303", "GF305", "GF307"}  # in the saved tensors that are alive
NEEDLESS = {"GF103"}  # in the nodes that are made
# and by what they may raise
ERRORS = {
    "GF205": (NON_LEAF, SECOND_WALK),
    "GF303": (SECOND_WALK, IN_PLACE),  # a step in between may be what raises
    "GF304": (SECOND_WALK, IN_PLACE),
    "GF306": (SECOND_WALK, IN_PLACE),
    "GF401": (IN_PLACE,),
    "GF901": (NO_ELEMENTS,),
    "GF903": (OLD_ARGUMENT, OLD_SHAPE),
}
TITLES = {SECOND_WALK: "second backward", IN_PLACE: "written in place", NON_LEAF: "not a leaf"}
STEPS = 4  # in a row, before a rise counts as growth


def grows(run: Run) -> bool:
    """Whether the count of live nodes rises from walk to walk."""
    return longest_rise(run.nodes) >= STEPS


def longest_rise(counts: tuple[int, ...]) -> int:
    longest = length = 1
    for earlier, later in zip(counts, counts[1:]):
        length = length + 1 if later > earlier else 1
        longest = max(longest, length)
    return longest


def raises(run: Run, kind: tuple[str, str]) -> bool:
    return run.failure is not None and run.failure.kind == kind[0] and run.failure.message.startswith(kind[1])


def warns(run: Run, text: str) -> bool:
    return any(message.startswith(text) for message in run.warnings)


def raised(case: Case, run: Run) -> str:
    """The symptom, where it is an error that the rule is about, or a warning of torch's old names."""
    for kind in ERRORS.get(case.code, (SECOND_WALK,)):
        if raises(run, kind):
            place = f" in line {run.failure.line}" if run.failure and run.failure.line else ""
            return TITLES.get(kind, kind[0]) + place
    if case.code == "GF903" and warns(run, OLD_FLAG):
        return "warns: volatile has no effect"
    return ""


def symptom(case: Case, before: Run, after: Run | None) -> str:
    """What shows that `before` is at fault and `after` is not; empty where nothing does."""
    if case.optional:
        return _of_old_code_that_works(case, before, after)
    if before.failure is not None or case.code == "GF903":
        return raised(case, before) if after is None or not raised(case, after) else ""
    if after is None or not before.clean:
        return ""
    if case.code in NEEDLESS:
        return f"makes {before.made} nodes for {after.made}" if before.made > after.made else ""
    if case.code in GROWING and grows(before):
        return "live nodes grow"
    if case.code in RETAINED and sum(before.saved) > sum(after.saved) and _never_less(before.saved, after.saved):
        return "keeps saved tensors"
    return ""


def _of_old_code_that_works(case: Case, before: Run, after: Run | None) -> str:
    """Such code runs as well as its modern form; some of it is warned of."""
    if not before.clean or after is None or warns(after, OLD_NUMBER):
        return ""
    if case.code == "GF904":
        return "warns: number from a live tensor" if warns(before, OLD_NUMBER) else ""
    return "" if warns(before, OLD_NUMBER) else "none: old spelling"


def _never_less(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return len(before) == len(after) and all(kept >= freed for kept, freed in zip(before, after))


def faults(run: Run) -> list[str]:
    """What is wrong with a run that should be right."""
    if run.failure is not None:
        where = f" (line {run.failure.line})" if run.failure.line else ""
        return [f"{run.failure}"[:120] + where]
    if not run.clean:
        return [f"{run.outcome}, an error in a thread" if run.thread_failures else run.outcome]
    if not run.walks:
        return ["nothing was walked"]
    return ["live nodes grow"] if grows(run) else []

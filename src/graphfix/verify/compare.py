"""Whether two runs computed the same: losses, what was printed, the parameters at the end."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.record import Ending, Run

RELATIVE, ABSOLUTE = 1e-4, 1e-6
# what torch's representation of a tensor says beside its numbers
BESIDE = re.compile(r"grad_fn=<[^>]*>|device='[^']*'|dtype=torch\.\w+")
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")


@dataclass(frozen=True)
class Comparison:
    """What two runs have in common. `reason` says how they differ, or why nothing could be compared."""

    equal: bool
    compared: int  # numbers, and counts that differ; 0: there was nothing to compare
    reason: str = ""
    steps: int = 0  # walks up to which they were compared


def close(one: float | None, two: float | None) -> bool:
    """Whether two numbers are one, within the tolerance that reordered sums need."""
    if one is None or two is None:
        return one is two
    return one == two or math.isnan(one) and math.isnan(two) or math.isclose(one, two, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def compare(before: Run, after: Run, walks: bool = True, strict: bool = False) -> Comparison:
    """Compare all, or what was computed up to the walk in which `before` died.

    `walks=False` leaves losses and gradients out: where a repair joins, drops or adds walks they have no counterparts.
    Where `before` died, gradients stand for the parameters, compared where both have one; `strict`: the same have to have one.
    """
    if not before.clean and not (before.failure and before.ending is Ending.FAILED):
        return Comparison(False, 0, f"the original ended by itself: {before.ending.value}")
    steps = min(before.walk_count, after.walk_count) if before.clean else before.walk_count
    compared, died = 0, not before.clean
    if walks:
        compared, reason = _losses(before, after, steps, died)
        if died and not reason:
            reason = _gradients(before, after, steps, strict)
        if reason:
            return Comparison(False, compared, reason, steps)
    printed, reason = _printed(before.stdout, after.stdout, died)
    compared += printed
    if not reason and not died:
        count, reason = parameters_of(before, after)
        compared += count
    if not reason and not compared:
        return Comparison(False, 0, "nothing to compare: it died before its first number", steps)
    return Comparison(not reason, compared, reason, steps)


def _losses(before: Run, after: Run, steps: int, died: bool) -> tuple[int, str]:
    if not died and before.walk_count != after.walk_count:
        return 1, f"{before.walk_count} backward pass{'es' * (before.walk_count != 1)} before, {after.walk_count} after"
    ours, theirs = dict(before.losses), dict(after.losses)
    for walk in range(steps):
        if walk in ours and not (walk in theirs and close(ours[walk], theirs[walk])):
            return walk + 1, f"the loss of backward pass {walk + 1} is {ours[walk]}, and {theirs.get(walk)} after"
    return len([walk for walk in ours if walk < steps]), ""


def _gradients(before: Run, after: Run, steps: int, strict: bool) -> str:
    if [one.shape for one in before.parameters] != [two.shape for two in after.parameters]:
        return ""  # the repair makes a parameter, or gives up one
    theirs = {walk.index: walk.gradients for walk in after.walks}
    for walk in before.walks:
        if walk.index >= steps or walk.index not in theirs:
            break
        other = theirs[walk.index]
        if strict and walk.gradients.keys() != other.keys():
            return f"other parameters have a gradient after backward pass {walk.index + 1}"
        for at, norm in walk.gradients.items():
            if at in other and not close(norm, other[at]):
                return f"the gradient of parameter {at + 1} differs after backward pass {walk.index + 1}"
    return ""


def _printed(before: str, after: str, died: bool) -> tuple[int, str]:
    """Numbers that were printed, in order, each as far as both show it; what is between them may be spelt in another way."""
    ours, theirs = numbers_in(before), numbers_in(after)
    if not died and len(ours) != len(theirs):
        return 1, f"prints {len(ours)} numbers before, {len(theirs)} after"
    for at, one in enumerate(ours):
        if at >= len(theirs) or not shown_alike(one, theirs[at]):
            return at + 1, f"prints {one} as number {at + 1}, and {theirs[at] if at < len(theirs) else 'nothing'} after"
    return len(ours), ""


def parameters_of(before: Run, after: Run) -> tuple[int, str]:
    ours, theirs = before.parameters, after.parameters
    if [one.shape for one in ours] != [two.shape for two in theirs]:
        return 1, f"{len(ours)} parameters before, {len(theirs)} after, or of other shapes"
    for number, (one, two) in enumerate(zip(ours, theirs), 1):
        if not close(one.norm, two.norm) or first_difference(one.values, two.values) is not None:
            return 1, f"parameter {number} of {len(ours)} has another value"
    return sum(len(one.values) for one in ours), ""


def first_difference(ours: Sequence[float], theirs: Sequence[float]) -> int | None:
    """Index of the first number that differs or is missing."""
    for at, one in enumerate(ours):
        if at >= len(theirs) or not close(one, theirs[at]):
            return at
    return None


def numbers_in(text: str) -> tuple[str, ...]:
    """The numbers in a text, as they are spelt."""
    return tuple(NUMBER.findall(BESIDE.sub("", text)))


def shown_alike(one: str, two: str) -> bool:
    """Whether two spellings may be of one number: a tensor shows four decimals of it, a float all."""
    ours, theirs = float(one), float(two)
    if close(ours, theirs):
        return True
    return unit(one) != unit(two) and abs(ours - theirs) <= 0.5000001 * max(unit(one), unit(two))


def unit(number: str) -> float:
    """What the last digit of a number counts."""
    digits, _, power = number.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(power or 0) - decimals) if decimals else 0.0

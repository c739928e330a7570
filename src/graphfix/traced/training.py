"""What a traced run did not train, though it looks as if it did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.report.escape import escaped
from graphfix.report.text import Line, Piece
from graphfix.traced.record import Cut, Parameter, Place, Start, Steps, Trace
from graphfix.traced.spelled import called_from, line_at, times, where

LEAST = 2  # steps that show it
NAMED = 3
INDENT = "       "


def untrained(trace: Trace) -> Iterator[Line]:
    """The parameters that no gradient came to, those that no optimizer has, and gradients that are not kept."""
    rows = [steps for steps in trace.training.steps if steps.count >= LEAST]
    idle = [steps for steps in rows if steps.parameters and steps.missing == steps.parameters]
    for steps in idle:
        yield from _trains_nothing(trace, steps)
    if not idle:
        yield from (line for start in trace.training.starts if start.cut is not None for line in _from_a_leaf(start, alone=True))
    for steps in rows:
        if steps.missing and steps not in idle:
            yield from _never(steps, steps.missing, steps.named_missing, "had no gradient")
        if steps.zeros:
            yield from _never(steps, steps.zeros, steps.named_zeros, "had a gradient of zeros only")
    if trace.training.unheld and trace.training.steps and not idle:
        names = _names(trace.training.unheld, len(trace.training.unheld))
        yield _headed("no optimizer has", f" {names}: backward() gives gradients, and nothing changes by them")
        yield _said("Give them to the optimizer; where they are not to be trained, `requires_grad_(False)` saves the work.")
        yield from _given(trace.training.given)
    for place in trace.training.unkept[:NAMED]:
        yield _headed("no gradient is kept", ": `.grad` of a tensor that is not a leaf is read, and is None")
        yield _at(place)
        yield _said("Call `retain_grad()` on it before backward(), or read that of the leaf.")


def _trains_nothing(trace: Trace, steps: Steps) -> Iterator[Line]:
    yield _headed("trains nothing", f": no gradient came to any of {steps.parameters} parameters, in {steps.count} steps")
    yield _at(steps.place)
    for start in trace.training.starts[:NAMED]:
        yield from _from_a_leaf(start, alone=False)
    if trace.training.unheld:
        names = _names(trace.training.unheld, len(trace.training.unheld))
        yield _said(f"backward() gives gradients to {names}, which no optimizer has:")
        yield _said("make the optimizer of the parameters that the forward pass uses, behind what replaces or wraps them.")
        yield from _given(trace.training.given)
    if all(start.cut is None for start in trace.training.starts):
        yield from _cuts(steps.named_missing)


def _from_a_leaf(start: Start, *, alone: bool) -> Iterator[Line]:
    """A backward pass that reaches nothing: where it begins, and where the graph was lost."""
    if alone:
        yield _headed("trains nothing", f": this backward() begins at a tensor without a graph, {times(start.count)}")
    yield _at(start.place)
    if not alone:
        yield _said("begins at a tensor without a graph:")
    if start.cut is not None:
        yield from _lost(start.cut)
    yield _said("That the tensor requires grad ends the error, and trains nothing: repair the cut, and leave `requires_grad` out.")


def _given(places: Sequence[Place]) -> Iterator[Line]:
    for place in places[:NAMED]:
        yield _at(place)
        yield from called_from(place)
        yield _said("gave an optimizer the parameters that there were then.")


def _never(steps: Steps, count: int, named: Sequence[Parameter], what: str) -> Iterator[Line]:
    yield _headed("never trained", f": {_names(named, count)} {what} at any of {steps.count} steps")
    yield _at(steps.place)
    yield from _cuts(named)


def _cuts(named: Sequence[Parameter]) -> Iterator[Line]:
    """The lines between parameters and the losses that lose their graph."""
    for cut in list(dict.fromkeys(each.cut for each in named if each.cut is not None))[:NAMED]:
        yield from _lost(cut)


def _lost(cut: Cut) -> Iterator[Line]:
    """A line that loses a graph."""
    how = {
        "unrecorded": "runs without recording (no_grad, or grad mode off)",
        "inference": "runs under inference_mode, which records nothing",
        "numbers": "makes a new tensor of the values alone",
    }
    if cut.off is not None:
        yield _at(cut.off)
        yield _said("switches recording off.")
    yield _at(cut.place)
    yield _said(f"{cut.operation} {how.get(cut.how, 'has no gradient, or cuts the graph')}.")


def _names(named: Sequence[Parameter], count: int) -> str:
    shown = [_name(each) for each in named[:NAMED]]
    more = count - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def _name(each: Parameter) -> str:
    if each.name is not None:
        return f"`{escaped(each.name.name)}`"
    return f"a parameter of shape ({', '.join(map(str, each.shape))}{',' if len(each.shape) == 1 else ''})"


def _headed(head: str, rest: str) -> Line:
    return (Piece(head, "bold yellow"), Piece(rest))


def _at(place: Place) -> Line:
    return (Piece(INDENT), Piece(where(place), "blue"), Piece(f"  {line_at(place)}"))


def _said(text: str) -> Line:
    return (Piece(f"{INDENT}{text}"),)

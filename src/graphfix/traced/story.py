"""What a traced run tells people: numbered by time, one line of code after the other."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

from graphfix.report.escape import escaped
from graphfix.report.text import Line, Piece, columns
from graphfix.traced import screen
from graphfix.traced.growing import growth, waste
from graphfix.traced.record import CELL, NEVER, Carrier, Failure, Place, Trace
from graphfix.traced.screen import Meaning
from graphfix.traced.spelled import WIDTH, line_at, name_of, shortened, size_of, where
from graphfix.traced.training import untrained
from graphfix.verify import record
from graphfix.verify.record import Ending, Run

SECOND = "RuntimeError: Trying to backward through the graph a second time"
CHANGED = "RuntimeError: a variable needed for gradient computation has been modified by an inplace operation"
UNREDUCED = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one"
# errors of which the run does not show what is to be done
MEANT = ("no-graph", "not-scalar", "deepcopy", "not-a-leaf", "leaf-write", "unused", "frozen", "once", "ddp-unused")
MOST_NAMED = 8
# what is to be done about a cut of which the run shows more than the error says
REMEDIES = {
    "checkpoint": Meaning(
        "A reentrant checkpoint has a graph only where one of its inputs requires grad; here they are frozen, or come from the data.",
        "Pass `use_reentrant=False` to checkpoint(), or let its input require grad: `hidden.requires_grad_()`.",
    )
}
# https://docs.pytorch.org/docs/stable/multiprocessing.html#spawning-subprocesses, and torchrun's
OF_PROCESSES = ("ProcessRaisedException", "ProcessExitedException", "ChildFailedError")
ENDED_ITSELF = (Ending.FINISHED, Ending.EXITED, Ending.FAILED)
UNWATCHED = "processes that it starts are not traced; run each under graphfix trace"


def lines(trace: Trace, meaning: Meaning | None = None) -> Iterator[Line]:
    """All that there is to say about a run: first of the error on the screen, which means `meaning`, and apart what was seen in passing."""
    told = False
    for failure in screen.refused(trace)[-3:]:
        yield from failed(trace, failure, meaning)
        yield ()
        told = True
    other = screen.unrefused(trace)
    if other is not None and meaning is not None:
        yield from raised(other, meaning)
        yield ()
        told = True
    passing = list(in_passing(trace))
    if passing and screen.hides(trace):
        if other is not None and not told:
            yield from _in_figures(trace)
            yield ()
        yield (Piece("also seen, but not the cause of the error:", "bold"),)
    yield from passing
    told = told or bool(passing)
    if trace.compiled:
        calls = "a call" if trace.compiled == 1 else f"{trace.compiled} calls"
        yield (Piece(f"compiled: {calls} ran compiled code, which is shown as one step at the line that called it"),)
    if not told:
        yield from _in_figures(trace)


def in_passing(trace: Trace) -> Iterator[Line]:
    """What the program went on from, kept or built for nothing."""
    for failure in screen.caught(trace)[-3:]:
        yield from failed(trace, failure)
        yield ()
    yield from untrained(trace)
    yield from growth(trace)
    yield from waste(trace)


def _in_figures(trace: Trace) -> Iterator[Line]:
    for text in textwrap.wrap(
        f"graphfix trace: {_figures(trace)}; {_verdict(trace)}", min(WIDTH, columns()), break_on_hyphens=False
    ):
        yield (Piece(text, "bold"),)


def raised(error: record.Failure, meaning: Meaning) -> Iterator[Line]:
    """An error that is none of a refused backward pass: where it was raised, what it means and what is to be done."""
    yield (Piece(escaped(str(error)), "bold red"),)
    if error.file is not None and error.line is not None:
        place = Place(error.file, error.line)
        yield (Piece("-->    ", "bold red"), Piece(where(place), "blue"), Piece(f"  {line_at(place)}", "bold"))
    yield from _prose(meaning)


def _prose(meaning: Meaning) -> Iterator[Line]:
    for text in (meaning.brief, meaning.repair):
        words = escaped(" ".join(text.split()))
        indent = " " * 7
        for line in textwrap.wrap(
            words, min(WIDTH, columns()), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        ):
            yield (Piece(line),)


def failed(trace: Trace, failure: Failure, meaning: Meaning | None = None) -> Iterator[Line]:
    """The story of one error; `meaning` is told where the run does not show all of it."""
    title, story = STORIES[failure.kind]
    yield (Piece(title or escaped(f"{error_of(failure)}: {failure.message}"), "bold red"),)
    steps = list(story(trace, failure))
    rows = [(place.file, place.line) for place, _ in steps]
    for number, (place, words) in enumerate(steps, 1):
        last = number == len(steps)
        mark = "-->" if last else "   "
        when = _when(trace, place)
        yield (Piece(f"{mark} {number}  ", "bold red" if last else "blue"), Piece(f"{when}{words}"))
        yield (Piece("       "), Piece(where(place), "blue"), Piece(f"  {line_at(place)}", "bold" if last else ""))
        if place.library is not None:
            file, line = place.library
            yield (Piece(f"       within {escaped(shortened(file))}:{line}", "blue"),)
        entry = _entry(failure.carrier) if place is failure.crossing and failure.kind == "second" else None
        if entry is not None and (entry.file, entry.line) != (place.file, place.line):
            yield (Piece(f"       it entered the graph at {where(entry)}", "blue"), Piece(f"  {line_at(entry)}"))
        called = [f"{escaped(shortened(file))}:{line}" for file, line in place.callers]
        if called and rows.count((place.file, place.line)) > 1:  # what led there tells two steps of one line apart
            yield (Piece(f"       called from {', '.join(called)}", "blue"),)
    way = _way(failure)
    if way:
        yield (Piece(f"       path from the loss to that graph: {way}", "blue"),)
    if meaning is not None and failure.kind in MEANT:
        yield from _prose(REMEDIES.get(failure.cut.how if failure.cut is not None else "", meaning))


def error_of(failure: Failure) -> str:
    """The type of an error."""
    return "ValueError" if failure.kind == "not-a-leaf" else "RuntimeError"


def _entry(carrier: Carrier | None) -> Place | None:
    """The line of the program that gave the name away, if it can be read there."""
    if carrier is None or not carrier.line:
        return None
    place = Place(carrier.file, carrier.line)
    return place if re.search(rf"\b{re.escape(carrier.base)}\b", line_at(place)) else None


def _second(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    carrier = failure.carrier
    if failure.made is not None:
        yield failure.made, "this line made the graph"
    if failure.freed is not None:
        yield failure.freed, "this backward() freed it"
    if failure.crossing is not None:
        through = f" through {name_of(carrier)}" if carrier is not None else ""
        yield failure.crossing, f"this line used it again{through}"
        yield failure.now, "this backward() goes through the freed graph: error"
    else:
        held = f", which {name_of(carrier)} still holds: error" if carrier is not None else ": error"
        yield failure.now, f"this backward() goes through the freed graph again{held}"


def _changed(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    if failure.made is not None:
        yield failure.made, "this line saved a tensor for its gradient"
    if failure.write is not None:
        name = f"{name_of(failure.carrier)} " if failure.carrier is not None else "that tensor "
        call = failure.write_name if "." in failure.write_name else failure.write_name.strip("_")
        yield failure.write, f"this line wrote to {name}in place ({call})"
    if failure.crossing is not None and failure.through is not None:
        yield failure.crossing, f"this line used the older graph through {name_of(failure.through)}"
    yield failure.now, "this backward() needs its earlier value: error"


def _bare(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    cut = failure.cut
    if cut is not None:
        name = cut.operation
        if cut.off is not None:
            yield cut.off, "this line switched recording off"
        how = {
            "unrecorded": f"{name} ran without recording (no_grad, or grad mode off): its result has no graph",
            "inference": f"{name} ran under inference_mode: its result has no graph, also within enable_grad()",
            "numbers": f"{name} made a tensor from numbers, which have no graph",
            "checkpoint": "this checkpoint records nothing while it runs (use_reentrant=True), and none of its inputs requires grad",
            "constant": f"this line cut the graph: the result of {name} has none",
        }
        yield cut.place, how[cut.how]
    yield failure.now, "this backward() finds no graph to go through: error"


def _not_scalar(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    if failure.made is not None:
        yield failure.made, f"this line made the tensor, of shape {shape_of(failure)}"
    none = ", and has none: sum() of it is 0, mean() is nan" if 0 in (failure.shape or ()) else ""
    yield failure.now, f"this backward() needs one number to differentiate{none}: error"


def _copied(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    if failure.made is not None:
        yield failure.made, f"this line computed {name_of(failure.carrier) or 'a tensor that is held there'}"
    yield failure.now, "this copies what holds it, and with it the graph: error"


def _not_a_leaf(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    if failure.made is not None:
        yield (
            failure.made,
            f"this line computed {name_of(failure.carrier) or 'the tensor'}: the result of an operation is not a leaf",
        )
    yield failure.now, "the optimizer is given it: error"


def _leaf_written(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    name = name_of(failure.carrier) or "a tensor"
    if failure.made is not None:
        yield failure.made, f"this line made {name} a leaf that requires grad"
    what = name_of(failure.carrier) or "the leaf"
    if failure.crossing is not None:
        yield failure.crossing, f"this line made a view of {what}"
        yield failure.now, "this line writes through the view while that is recorded: error"
    else:
        yield failure.now, f"this line writes to {what} while that is recorded: error"


def _unused(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    name = name_of(failure.carrier) or "a tensor"
    if failure.made is not None:
        yield failure.made, f"this line made {name}"
    if failure.crossing is not None:
        origin = f", which goes back to {name_of(failure.through)}" if failure.through is not None else ""
        yield failure.crossing, f"this line made the loss{origin}"
    yield failure.now, f"the gradient for {name} is asked for, which the loss was not computed from: error"


def _once(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    if failure.made is not None:
        yield failure.made, "this line took a gradient of compiled code, and kept the graph of it (create_graph=True)"
    yield failure.now, "this backward() differentiates that gradient, which compiled code does not support: error"


def _frozen(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    name = name_of(failure.carrier) or f"a tensor of shape {shape_of(failure)}"
    if failure.made is not None:
        yield failure.made, f"this line told {name} not to require grad"
    yield failure.now, f"the gradient for {name} is asked for, which does not require grad: error"


def _unreduced(trace: Trace, failure: Failure) -> Iterator[tuple[Place, str]]:
    names = [f"`{name}`" for name in failure.parameters]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    which = f": {', '.join(names[:MOST_NAMED])}{more}" if names else ""
    yield failure.now, f"this forward pass begins, and parameters have got no gradient from the last one{which}: error"


def shape_of(failure: Failure) -> str:
    """The shape of the tensor that an error is about, as torch writes it."""
    return f"({', '.join(map(str, failure.shape or ()))}{',' if len(failure.shape or ()) == 1 else ''})"


STORIES: dict[str, tuple[str, Callable[[Trace, Failure], Iterator[tuple[Place, str]]]]] = {
    "second": (SECOND, _second),
    "inplace": (CHANGED, _changed),
    "no-graph": ("", _bare),
    "not-scalar": ("", _not_scalar),
    "deepcopy": ("", _copied),
    "not-a-leaf": ("", _not_a_leaf),
    "leaf-write": ("", _leaf_written),
    "unused": ("", _unused),
    "frozen": ("", _frozen),
    "once": ("", _once),
    "ddp-unused": (UNREDUCED, _unreduced),
}


def _when(trace: Trace, place: Place) -> str:
    """The iteration, or how many backward passes were over."""
    if place.step == NEVER:
        return ""
    number = trace.iteration(place.step)
    if number:
        return f"iteration {number}: "
    return f"after {place.step} backward(): " if place.step else ""


def _way(failure: Failure) -> str:
    """The lines on the way, each once, from the loss on."""
    lines: list[tuple[str, int]] = []
    for place in reversed(failure.path):
        if not lines or lines[-1] != (place.file, place.line):
            lines.append((place.file, place.line))
    names = [f"{shortened(file)}:{line}" for file, line in lines]
    if len(names) > 6:
        names = [*names[:3], "...", *names[-2:]]
    return " > ".join(escaped(name) for name in names) if len(names) > 1 else ""


def _figures(trace: Trace) -> str:
    """The run in figures."""
    run = trace.run
    if run.torch is None:
        return "the program never imported torch" if run.ending in ENDED_ITSELF else "the program had not imported torch by then"
    least = "at least " if run.ending is Ending.RUNNING else ""
    parts = [f"{least}{run.walk_count} backward passes", f"at most {run.peak} nodes alive", f"{run.live} at the end"]
    if run.peak_saved_bytes:
        parts.append(f"{size_of(run.peak_saved_bytes)} of saved tensors at most")
    return ", ".join(parts)


def _verdict(trace: Trace) -> str:
    """That nothing was seen to be wrong, as far as the program came."""
    run = trace.run
    if run.torch is None and run.ending not in ENDED_ITSELF:
        return f"{'the time limit' if run.ending is Ending.LATE else _signal(run)} ended it, and nothing was seen of it"
    if run.ending is Ending.FAILED:
        what = f" ({escaped(str(run.failure))})" if run.failure else ""
        elsewhere = str(run.failure).partition(":")[0] in OF_PROCESSES
        return f"it failed{what}" + (f": {UNWATCHED}" if elsewhere else ", which is not a graph error that graphfix explains")
    if run.ending is Ending.LATE:
        return "nothing wrong until the time limit"
    if run.ending is Ending.RUNNING:
        return f"{_signal(run)} ended it, and this is what was seen {run.seconds:.1f} seconds after its start: nothing wrong so far"
    if run.ending is Ending.TERMINATED:
        return f"nothing wrong until {_signal(run)} ended it"
    if run.ending not in (Ending.FINISHED, Ending.EXITED):
        return f"nothing wrong until it was {run.ending.value}"
    if run.walk_count or run.torch is None:
        return "nothing wrong"
    return "it never called backward()" + (", so its graphs are for nothing" if run.peak else f" itself: {UNWATCHED}")


def _signal(run: Run) -> str:
    """What has ended a run that could not say so itself."""
    if run.failure is None:
        return "an exit without a word"
    return f"{run.failure.kind} ({run.failure.message})" if run.failure.message else run.failure.kind


def files_of(trace: Trace) -> list[Path]:
    """The user's files that the story runs through, the most telling first."""
    places: list[Place | None] = [*screen.places(trace)]
    if not screen.hides(trace):
        places += [holder.made for look in trace.looks[-2:] for holder in look.holders]
        places += [each.place for each in (*trace.retained, *trace.unwalked)]
    files = (place.file.partition(CELL)[0] for place in places if place is not None)
    found = [Path(file) for file in files if "site-packages" not in file]
    return [path for path in dict.fromkeys(found) if path.is_file()]

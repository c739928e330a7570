"""What a traced run told, as the rest of graphfix reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.verify.record import Ending, Run, from_report

NEVER = -1
CELL = ":cell "  # stands between the name of a notebook and the number of a cell, from 1


@dataclass(frozen=True)
class Place:
    """A line of the user's code. `step`: how many walks were over then; `library`: the line of a library that it called; `callers`: what led there."""

    file: str
    line: int
    step: int = NEVER
    kind: str = ""
    library: tuple[str, int] | None = None
    callers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Carrier:
    """A name through which a tensor was reached: `function` is the one whose variable, or whose object, it is."""

    name: str
    base: str
    file: str
    function: str
    line: int

    @property
    def described(self) -> str:
        """What kind of name it is, and where."""
        if "." in re.sub(r"\[[^]]*\]", "", self.name):
            kind = "attribute"
        elif "[" in self.name:
            kind = "entry"
        else:
            kind = "variable"
        return f"{kind}, in {self.function}()" if self.function != "<module>" else kind


@dataclass(frozen=True)
class Cut:
    """Where a graph was lost, by which operation, and how. `off`: the line that had switched recording off."""

    place: Place
    name: str
    how: str
    off: Place | None = None

    @property
    def operation(self) -> str:
        """The operation, as a sentence names it."""
        return f"{self.name}()" if self.name.isidentifier() else "this operation"


@dataclass(frozen=True)
class Failure:
    """A backward pass that autograd refused, or another error of which the run tells more than its message does.

    `carrier`: the name that brought the graph there, or that was written to; `through`: in the second case, the name that
    brought it. `path`: from the node that it came to up to the loss. `cut`: where the loss lost its graph.
    Of other errors, `made` and `carrier` are those of the tensor that they are about, with its `shape`; where that is an input that the
    loss was not computed from, `through` is a leaf that it was computed from. `parameters`: those that got no gradient.
    """

    kind: str
    message: str
    now: Place
    made: Place | None = None
    freed: Place | None = None
    crossing: Place | None = None
    write: Place | None = None
    write_name: str = ""
    carrier: Carrier | None = None
    through: Carrier | None = None
    path: tuple[Place, ...] = ()
    cut: Cut | None = None
    shape: tuple[int, ...] | None = None
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Holder:
    """A name that keeps graphs alive: how many nodes, and which line made the newest of them."""

    carrier: Carrier
    nodes: int
    size: int
    made: Place | None


@dataclass(frozen=True)
class Look:
    """Who held what after `step` walks."""

    step: int
    live: int
    holders: tuple[Holder, ...]


@dataclass(frozen=True)
class Waste:
    """Graphs that were kept, or built, for nothing: by the line that did. `out_of`: how often it has kept one, for nothing or not."""

    place: Place
    times: int
    nodes: int
    size: int
    out_of: int = 0


@dataclass(frozen=True)
class Parameter:
    """A parameter, under the name that it had at a step. `cut`: where the graph was lost between it and what was made with it."""

    name: Carrier | None
    shape: tuple[int, ...]
    cut: Cut | None = None


@dataclass(frozen=True)
class Steps:
    """The steps of one line: of how many parameters, and which had no gradient at any of them, or one of zeros only; the first are named."""

    place: Place
    count: int
    parameters: int
    missing: int
    zeros: int
    named_missing: tuple[Parameter, ...]
    named_zeros: tuple[Parameter, ...]


@dataclass(frozen=True)
class Start:
    """A line whose backward passes began at a tensor that was computed from nothing. `cut`: where its graph was lost."""

    place: Place
    count: int
    cut: Cut | None


@dataclass(frozen=True)
class Training:
    """What a run trains.

    `unheld`: parameters that got gradients, and that no optimizer had; `unkept`: where a `.grad` was read that torch does not keep; `given`: the
    lines that gave optimizers parameters.
    """

    steps: tuple[Steps, ...] = ()
    starts: tuple[Start, ...] = ()
    unheld: tuple[Parameter, ...] = ()
    unkept: tuple[Place, ...] = ()
    given: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Trace:
    """One traced run. `cycle`: walks in an iteration, 0 where iterations are not alike. `graded`: where a `.grad` was given a graph.

    `lost`: nodes that no walk came to, of graphs that are gone; `held`: of those that the program held in the end.
    """

    run: Run
    failures: tuple[Failure, ...] = ()
    looks: tuple[Look, ...] = ()
    cycle: int = 0
    retained: tuple[Waste, ...] = ()
    unwalked: tuple[Waste, ...] = ()
    lost: int = 0
    held: int = 0
    compiled: int = 0
    graded: tuple[Place, ...] = ()
    training: Training = Training()

    def iteration(self, step: int) -> int:
        """The iteration, from 1, in which `step` walks were over; 0 where iterations are not told apart."""
        return step // self.cycle + 1 if self.cycle and step >= 0 else 0


def from_data(data: dict[str, Any]) -> Trace:
    """The trace that a report holds; raises KeyError, TypeError or ValueError where it is none."""
    told = data.get("trace") or {}
    run = from_report(data, None)
    complete = run.ending is Ending.FINISHED and bool(told.get("complete", True))
    return Trace(
        run,
        tuple(_failure(row) for row in told.get("failures", ())),
        tuple(_look(row) for row in told.get("looks", ())),
        int(told.get("cycle", 0)),
        tuple(_retained(told.get("retained", ()), complete)),
        tuple(Waste(_place(row), row["graphs"], row["nodes"], row["bytes"]) for row in told.get("unwalked", ())),
        int(told.get("lost", 0)),
        int(told.get("held", 0)),
        int(told.get("compiled", 0)),
        tuple(_place(row) for row in told.get("graded", ())),
        _training(told.get("training") or {}),
    )


def _place(row: dict[str, Any]) -> Place:
    library = row.get("library")
    within = (library[0], library[1]) if library else None
    callers = tuple((file, line) for file, line in row.get("callers", ()))
    return Place(row["file"], row["line"], row.get("step", NEVER), row.get("kind", ""), within, callers)


def _maybe(row: dict[str, Any] | None) -> Place | None:
    return None if row is None else _place(row)


def _carrier(row: dict[str, Any] | None) -> Carrier | None:
    return None if row is None else Carrier(row["name"], row["base"], row["file"], row["function"], row["line"])


def _failure(row: dict[str, Any]) -> Failure:
    return Failure(
        row["kind"], row["message"], _place(row["now"]), _maybe(row.get("made")), _maybe(row.get("freed")),
        _maybe(row.get("crossing")), _maybe(row.get("write")), (row.get("write") or {}).get("name", ""),
        _carrier(row.get("carrier")), _carrier(row.get("through")), tuple(_place(each) for each in row.get("path", ())),
        _cut(row.get("cut")),
        tuple(row["shape"]) if "shape" in row else None, tuple(row.get("parameters", ())),
    )  # fmt: skip


def _training(data: dict[str, Any]) -> Training:
    return Training(
        tuple(map(_steps, data.get("steps", ()))),
        tuple(_start(row) for row in data.get("leaves", ())),
        tuple(map(_parameter, data.get("unheld", ()))),
        tuple(_place(row) for row in data.get("unkept", ())),
        tuple(_place(row) for row in data.get("given", ())),
    )


def _steps(row: dict[str, Any]) -> Steps:
    missing, zeros = row["missing"], row["zeros"]
    named = (tuple(map(_parameter, each["first"])) for each in (missing, zeros))
    return Steps(_place(row), row["steps"], row["parameters"], missing["count"], zeros["count"], *named)


def _parameter(row: dict[str, Any]) -> Parameter:
    return Parameter(_carrier(row["name"]), tuple(row["shape"]), _cut(row.get("cut")))


def _start(row: dict[str, Any]) -> Start:
    return Start(_place(row), row["walks"], _cut(row["cut"]))


def _cut(row: dict[str, Any] | None) -> Cut | None:
    return None if row is None else Cut(_place(row), row["name"], row["how"], _maybe(row.get("off")))


def _look(row: dict[str, Any]) -> Look:
    holders = []
    for each in row["holders"]:
        carrier = _carrier(each)
        assert carrier is not None
        holders.append(Holder(carrier, each["nodes"], each["bytes"], _maybe(each["made"])))
    return Look(row["step"], row["live"], tuple(holders))


def _retained(rows: Iterable[dict[str, Any]], complete: bool) -> Iterable[Waste]:
    """The lines whose graphs were not needed again, all or some of them; the last may have been, where the run was not `complete`."""
    for row in rows:
        spared = not complete and not row["last_used"]
        times = row["walks"] - row["used"] - spared
        # once for nothing, where it was needed before, is the end of a run
        if times > (1 if row["used"] else 0):
            yield Waste(_place(row), times, row["nodes"], row["bytes"], row["walks"] - spared)

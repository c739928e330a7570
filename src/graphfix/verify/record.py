"""What is known of one run of a script: the probe's report and what the process itself left."""

from __future__ import annotations

import enum
import signal
from dataclasses import field
from functools import cached_property
from typing import Any

from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Failure:
    """The error that ended a script, and the last line of the user's code on its way."""

    kind: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        first = self.message.split("\n", 1)[0]
        return f"{self.kind}: {first}" if first else self.kind


def ended_by(code: int) -> Failure | None:
    """The signal that ended a process with this exit code, which is negative then."""
    if code >= 0:
        return None
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return Failure(f"signal {-code}", "")
    return Failure(name, (signal.strsignal(-code) or "").lower())


@dataclass(frozen=True)
class Walk:
    """One finished walk over a graph, and what was alive behind it."""

    index: int  # of all walks of the run, from 0
    call: str  # "backward" or "grad"
    file: str
    line: int
    live: int  # autograd nodes
    made: int  # nodes made since the start
    freed: int  # nodes that this walk freed
    retained: bool
    born: dict[str, int]  # "file:line" -> nodes alive, the most first
    saved: int  # saved tensors alive; 0 where the run did not count them
    saved_bytes: int  # of distinct storages, without parameters
    pass_bytes: int  # the most of them since the walk before: what the forward pass needed
    gradients: dict[int, float]  # behind the first few walks: optimised parameter -> norm of its gradient
    seconds: float  # since the start


@dataclass(frozen=True)
class Parameter:
    """A trained tensor at the end: its norm and up to 256 evenly spaced values."""

    shape: tuple[int, ...]
    norm: float
    values: tuple[float, ...]


class Ending(enum.Enum):
    """How a run ends; the words of the probe's reports, and what only the process itself says."""

    RUNNING = "running"  # the last report before it was killed
    FINISHED = "finished"
    EXITED = "exited"  # with a code
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    LATE = "late"  # over its time
    KILLED = "killed"
    LOST = "lost"  # it left no report


@dataclass(frozen=True)
class Run:
    """One run."""

    ending: Ending
    exit_code: int | None = None
    failure: Failure | None = None
    thread_failures: tuple[Failure, ...] = ()
    walks: tuple[Walk, ...] = ()
    walk_count: int = 0  # also of walks that a long run tells no row of
    losses: tuple[tuple[int, float | None], ...] = ()  # walk -> value it started from
    numbers: tuple[tuple[int, float], ...] = ()  # walks before it -> number that the script read
    parameters: tuple[Parameter, ...] = ()
    live: int = 0  # at the end
    peak: int = 0
    made: int = 0
    peak_saved_bytes: int | None = None  # None: not counted
    reads: dict[str, int] = field(default_factory=dict)  # calls that an accelerator has to be waited for
    waits: int = 0  # those that one was waited for
    cuda_peak: int | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()  # the files of the user's own code that ran
    torch: str | None = None  # None: the script did not import it
    stdout: str = ""
    stderr: str = ""

    @property
    def clean(self) -> bool:
        """Whether the script finished as one wishes."""
        return self.ending is Ending.FINISHED and not self.thread_failures

    @property
    def lacks_torch(self) -> bool:
        """Whether it failed because its interpreter has no PyTorch."""
        return self.torch is None and self.failure is not None and "No module named 'torch'" in self.failure.message

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Live nodes behind each walk."""
        return tuple(walk.live for walk in self.walks)

    @cached_property
    def saved(self) -> tuple[int, ...]:
        """Saved tensors alive behind each walk."""
        return tuple(walk.saved for walk in self.walks)


def from_report(data: dict[str, Any], ending: Ending | None, stdout: str = "", stderr: str = "") -> Run:
    """The run that a report tells of; `ending` is what the process itself says, None to believe the report."""
    numbers: dict[str, Any] = {
        name: data[name]
        for name in ("walk_count", "live", "peak", "made", "peak_saved_bytes", "reads", "waits", "cuda_peak", "seconds", "torch")
        if name in data
    }
    return Run(
        ending=ending or Ending(data["outcome"]),
        exit_code=data["exit_code"],
        failure=_failure(data["error"]),
        thread_failures=tuple(failure for row in data["thread_errors"] if (failure := _failure(row)) is not None),
        walks=tuple(_walk(row) for row in data.get("walks", ())),
        losses=tuple((walk, value) for walk, value in data.get("losses", ())),
        numbers=tuple((walk, value) for walk, value in data.get("numbers", ())),
        parameters=tuple(Parameter(tuple(row["shape"]), row["norm"], tuple(row["values"])) for row in data.get("parameters", ())),
        warnings=tuple(data["warnings"]),
        loaded=tuple(data.get("loaded", ())),
        stdout=stdout,
        stderr=stderr,
        **numbers,
    )


def _walk(row: dict[str, Any]) -> Walk:
    # JSON knows names only
    return Walk(**{**row, "gradients": {int(at): norm for at, norm in row["gradients"].items()}})


def _failure(row: dict[str, Any] | None) -> Failure | None:
    return None if row is None else Failure(row["type"], row["message"], row["file"], row["line"])

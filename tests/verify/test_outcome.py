"""Cell by cell: what the end of a program and that of its repair say together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.verify.outcome import TABLE, End, Shows, end_of, said_of
from graphfix.verify.record import Ending, Failure, Run, Walk
from graphfix.verify.script import Verdict, judge

G, F, N = Verdict.GOOD, Verdict.SHORT, Verdict.NONE


def ran(steps: int, ending: Ending = Ending.FINISHED, failure: Failure | None = None, code: int | None = 0) -> Run:
    walks = tuple(Walk(at, "backward", "train.py", 9, 5, 10, 5, False, {}, 0, 0, 0, {}, 0.1) for at in range(steps))
    losses = tuple((at, 1 / (at + 1)) for at in range(steps))
    return Run(ending, code, failure, walks=walks, walk_count=steps, losses=losses, torch="2.13", seconds=2.0)


def raised(steps: int, kind: str, message: str) -> Run:
    return ran(steps, Ending.FAILED, Failure(kind, message, "train.py", 9), 1)


# each way in which a run ends, with so many walks
ENDS = {
    "finished": (End.CLEAN, lambda steps: ran(steps)),
    "second walk": (End.GRAPH, lambda steps: raised(steps, "RuntimeError", "Trying to backward through the graph a second time")),
    "out of memory": (End.MEMORY, lambda steps: raised(steps, "OutOfMemoryError", f"CUDA out of memory. Tried {steps} GiB")),
    "no file": (End.OWN, lambda steps: raised(steps, "FileNotFoundError", "data.csv")),
    "exit code": (End.OWN, lambda steps: ran(steps, Ending.EXITED, code=3)),
    "in a thread": (End.OWN, lambda steps: replace(ran(steps), thread_failures=(Failure("ValueError", "in a thread"),))),
    "out of time": (End.LATE, lambda steps: ran(steps, Ending.LATE, Failure("late", ""), None)),
    "signal": (End.KILLED, lambda steps: ran(steps, Ending.KILLED, Failure("SIGSEGV", "segmentation fault"), -11)),
    "limit": (End.KILLED, lambda steps: ran(steps, Ending.KILLED, Failure("too much memory", "more than 4.0 GiB"), -9)),
    "asked to end": (End.KILLED, lambda steps: ran(steps, Ending.TERMINATED, None, 143)),
    "no report": (End.LOST, lambda steps: ran(steps, Ending.LOST, Failure("lost", "no report"), 1)),
    "interrupted": (End.LOST, lambda steps: ran(steps, Ending.INTERRUPTED, None, 130)),
}  # fmt: skip
# the verdicts where the repaired program comes further than the original, as far, and less far:
# how the repaired one ended:  clean      graph      memory     own        late       killed     lost
VERDICTS = {
    End.CLEAN:  ((F, G, F), (F, F, F), (F, F, F), (F, F, F), (F, F, F), (F, F, F), (N, N, N)),
    End.GRAPH:  ((G, G, F), (F, F, F), (F, F, F), (F, F, F), (G, N, N), (F, F, F), (N, N, N)),
    End.MEMORY: ((G, G, F), (F, F, F), (F, F, F), (F, F, F), (G, N, N), (F, F, F), (N, N, N)),
    End.OWN:    ((G, G, F), (F, F, F), (F, F, F), (F, G, F), (N, N, N), (F, F, F), (N, N, N)),
    End.LATE:   ((G, G, G), (F, F, F), (F, F, F), (N, N, F), (G, G, G), (F, F, F), (N, N, N)),
    End.KILLED: ((N, N, N),) * 7,
    End.LOST:   ((N, N, N),) * 7,
}  # fmt: skip


def test_the_table_has_a_cell_for_all() -> None:
    assert set(TABLE) == set(End) and all(set(row) == set(End) for row in TABLE.values())
    assert {end for end, _ in ENDS.values()} == set(End)
    assert {cell for row in TABLE.values() for cell in row.values()} == set(Shows)


@pytest.mark.parametrize("after", ENDS)
@pytest.mark.parametrize("before", ENDS)
def test_each_cell(before: str, after: str) -> None:
    (ours, first), (theirs, second) = ENDS[before], ENDS[after]
    assert (end_of(first(4)), end_of(second(4))) == (ours, theirs)
    wanted = VERDICTS[ours][list(End).index(theirs)]
    if ours is theirs is End.OWN and before != after:
        wanted = (F, F, F)  # another error of its own
    found = tuple(judge(first(4), second(steps)).verdict for steps in (6, 4, 2))
    assert found == wanted


def test_what_is_said() -> None:
    late, clean, killed = ENDS["out of time"][1](4), ran(8), ENDS["signal"][1](3)
    assert judge(clean, late).reason == "the fixed program did not finish in time, and the original ends after 2.0 s"
    assert judge(clean, killed).reason == "the fixed program was killed: SIGSEGV: segmentation fault"
    own = ENDS["no file"][1](4)
    assert judge(own, late).reason == (
        "the original ends in FileNotFoundError: data.csv (train.py:9), and the fixed program did not finish in time"
    )
    assert said_of(ENDS["asked to end"][1](1)) == "was terminated"
    # without a walk, too
    assert judge(ran(0), ran(0, Ending.LATE)).verdict is F

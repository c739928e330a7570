"""What the runs over a file come to, as far as a repair of it may not make that worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphfix.analysis.evidence import working_walks
from graphfix.analysis.explore import Tape
from graphfix.analysis.runs import Run
from graphfix.autograd.health import Health
from graphfix.interpreter.recording import ReadKind


def health_of(tape: Tape) -> Health:
    """What is compared of the runs over one version of a file."""
    return health_of_runs(tape.runs, tape.truncated)


def health_of_runs(runs: Sequence[Run], truncated: bool) -> Health:
    """The same of some of the runs; `truncated`: whether they are not all that there would be."""
    walks = []
    misused: Counter[object] = Counter()
    empty: set[object] = set()
    unhooked: set[object] = set()
    for run in runs:
        working = working_walks(run)
        raises = len(working) < len(run.recording.walks)
        walks.append((tuple(count for _, count, further in working if not further), raises))
        empty.update(run.recording.empty)
        unhooked.update(run.recording.unhooked)
        misused.update({read.site for read in run.recording.misuses if read.kind is ReadKind.AS_TENSOR})
    return Health(tuple(walks), len(misused), len(empty), truncated, len(unhooked))

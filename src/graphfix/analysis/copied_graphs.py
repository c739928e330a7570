"""Deep copies of objects that hold graphs, which torch refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from operator import attrgetter

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.interpreter.recording import Copied, Held, Store, StoreKind
from graphfix.lazy_dataclass import dataclass


@dataclass(frozen=True, eq=False)
class CopiedGraph:
    """A deep copy that raises: what of the object has a graph, each with the assignment that has put it there, where that is in sight."""

    copied: Copied
    kept: tuple[tuple[Held, Store | None], ...]


def copied_graphs(evidence: Evidence) -> Iterator[CopiedGraph]:
    """The calls of `deepcopy` that torch refuses in some run, each once; none whose error the program may swallow."""
    seen = set()
    for run in filter(attrgetter("is_recorded"), evidence.tape.runs):
        for copied in run.recording.copies:
            held = [each for each in copied.held if run.recording.is_graph(each.node)]
            if not held or copied.site in seen or not evidence.program.holds(copied.site):
                continue
            seen.add(copied.site)
            if not evidence.swallows(copied.site):
                yield CopiedGraph(copied, tuple((each, store_of(evidence, run, copied, each)) for each in held))


def store_of(evidence: Evidence, run: Run, copied: Copied, held: Held) -> Store | None:
    """The last store before a copy that has put a tensor into what is copied."""
    if not held.path and held.path is not None:
        return None
    stores = (
        store
        for store in reversed(run.recording.stores)
        if store.order < copied.order and held.node in store.nodes and is_kept(store)
    )
    return next((store for store in stores if evidence.program.holds(store.target)), None)


def is_kept(store: Store) -> bool:
    """Whether what is stored is in an object from then on, not in a variable."""
    return store.kind in (StoreKind.APPENDED, StoreKind.EXTENDED, StoreKind.UPDATED) or not isinstance(store.target, ast.Name)

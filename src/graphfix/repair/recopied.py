"""Repairs for a deep copy of what has a graph: the graph is cut where it is put into the object, or right before the copy."""

from __future__ import annotations

import ast
import enum
import itertools
from collections.abc import Iterator, Sequence

from graphfix.analysis.copied_graphs import CopiedGraph, copied_graphs
from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Copied, Held, Store
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Append, Ground, InsertBefore, Operation, Replace
from graphfix.repair.at_store import operation
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.shapes import detached
from graphfix.source.quote import short

MOST = 4  # places that keep a graph: each may be cut in several ways


class Way(enum.Enum):
    """How a graph is kept out of a copy, the best way first; with what that changes for the code behind it."""

    STORED = ""
    LATE = "what is kept has no graph behind the copy"
    EMPTIED = "code behind the copy may read what was kept"


@dataclass(frozen=True)
class Cut:
    """An edit that keeps the graph of what is called `name` out of a copy."""

    way: Way
    edit: Operation
    name: str


def recopied(evidence: Evidence, copied: Copied) -> Iterator[Candidate]:
    """Each tensor detached where it is stored, or else where it is copied: the former where no backward pass needs what is stored."""
    fault = next((each for each in copied_graphs(evidence) if each.copied.site is copied.site), None)
    if fault is None or len(fault.kept) > MOST:
        return
    ways = [list(cuts_of(evidence, fault, held, store)) for held, store in fault.kept]
    order = list(Way)
    for chosen in sorted(itertools.product(*ways), key=lambda each: sum(order.index(cut.way) for cut in each)):
        operations = tuple(dict.fromkeys(cut.edit for cut in chosen))
        doubt = next((cut.way.value for cut in reversed(chosen) if cut.way.value), "")
        yield Candidate(Effect.CUT, titled(chosen), operations, Ground.UNUSED, doubt)


def titled(chosen: Sequence[Cut]) -> str:
    """What edits do, in a phrase."""
    stored, late, emptied = (", ".join(dict.fromkeys(f"`{cut.name}`" for cut in chosen if cut.way is way)) for way in Way)
    where = " where they are stored" if "," in stored else " where it is stored"
    detached_there = [f"{stored}{where}"] if stored else []
    detached_late = [f"{late} before the copy"] if late else []
    parts = [f"detach {' and '.join([*detached_there, *detached_late])}"] if stored or late else []
    return ", ".join([*parts, *([f"empty {emptied} before the copy"] if emptied else [])])


def cuts_of(evidence: Evidence, fault: CopiedGraph, held: Held, store: Store | None) -> Iterator[Cut]:
    """The edits that keep one graph out of a copy."""
    if store is not None:
        yield from (Cut(Way.STORED, edit, short(ast.unparse(store.target), 30)) for edit in where_stored(evidence, store))
    argument = next(iter(fault.copied.site.args), None)
    if argument is None:
        return
    program, text = evidence.program, evidence.program.source(argument)
    caller = at_maker(evidence, fault.copied, held)
    if held.path == "":
        yield Cut(Way.LATE, Append(program.span(argument), ".detach()"), short(text, 30))
    elif caller is not None or isinstance(argument, (ast.Name, ast.Attribute)):
        text, statement = caller or (text, program.statement_of(argument))
        place = program.span(statement)
        if held.path is not None:
            whole = f"{text}{held.path}"
            yield Cut(Way.LATE, InsertBefore(place, f"{whole} = {whole}.detach()"), short(whole, 30))
        elif held.within:
            whole = f"{text}{held.within}"
            yield Cut(Way.EMPTIED, InsertBefore(place, f"{whole}.clear()"), short(whole, 30))


def at_maker(evidence: Evidence, copied: Copied, held: Held) -> tuple[str, ast.stmt] | None:
    """The name of the copied object where the graph was made that it holds, and the statement there that comes to the copy.

    What copies any object, such as one that averages weights, knows nothing of what this one holds. None where the copy stands there itself.
    """
    makers = {frame for frame, _ in held.node.trace}
    if copied.trace[-1][0] in makers:
        return None
    frame, statement = next((each for each in reversed(copied.trace) if each[0] in makers), (None, None))
    if frame is None or not isinstance(statement, ast.stmt) or not evidence.program.holds(statement):
        return None
    name = next((name for name, value in frame.env.variables.items() if value is copied.value), None)
    return (name, statement) if name is not None else None


def where_stored(evidence: Evidence, store: Store) -> list[Operation]:
    """The edit that detaches what is stored; none where that is not plain."""
    site = store.value_site
    if site is None or not evidence.program.holds(site):
        return operation(evidence, store) if isinstance(store.target, ast.Attribute) else []
    text, span = evidence.program.source(site), evidence.program.span(site)
    made = detached(store.value, text)
    if made is None:
        return []
    return [Append(span, ".detach()") if made == f"{text}.detach()" else Replace(span, made)]

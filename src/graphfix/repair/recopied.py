"""Repairs for a deep copy of what has a graph: the graph is cut where it is put into the object, or right before the copy."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from graphfix.analysis.copied_graphs import CopiedGraph, copied_graphs
from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Copied, Held, Store
from graphfix.model import Append, Ground, InsertBefore, Operation, Replace
from graphfix.repair.at_store import operation
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.shapes import detached
from graphfix.source.quote import short

MOST = 4  # places that keep a graph: each may be cut in two ways
LATER = "what is kept has no graph behind the copy"


def recopied(evidence: Evidence, copied: Copied) -> Iterator[Candidate]:
    """Each tensor detached where it is stored, or else where it is copied: the former where no backward pass needs what is stored."""
    fault = next((each for each in copied_graphs(evidence) if each.copied.site is copied.site), None)
    if fault is None or len(fault.kept) > MOST:
        return
    ways = [list(ways_of(evidence, fault, held, store)) for held, store in fault.kept]
    for chosen in sorted(itertools.product(*ways), key=lambda each: sum(late for late, _, _ in each)):
        operations = tuple(dict.fromkeys(edit for _, edit, _ in chosen))
        doubt = LATER if any(late for late, _, _ in chosen) else ""
        yield Candidate(Effect.CUT, titled(chosen), operations, Ground.UNUSED, doubt)


def titled(chosen: Iterable[tuple[bool, Operation, str]]) -> str:
    """What edits do, in a phrase."""
    early, late = (list(dict.fromkeys(f"`{name}`" for each, _, name in chosen if each is when)) for when in (False, True))
    stored = ", ".join(early) + (" where it is stored" if len(early) == 1 else " where they are stored")
    parts = [*([stored] if early else []), *([", ".join(late) + " before the copy"] if late else [])]
    return f"detach {' and '.join(parts)}"


def ways_of(evidence: Evidence, fault: CopiedGraph, held: Held, store: Store | None) -> Iterator[tuple[bool, Operation, str]]:
    """The edits that cut one graph, whether each comes late, and what it cuts."""
    program = evidence.program
    if store is not None:
        name = short(ast.unparse(store.target), 30)
        site = store.value_site
        made = detached(store.value, program.source(site)) if site is not None and program.holds(site) else None
        if made is not None and site is not None:
            span = program.span(site)
            plain = made == f"{program.source(site)}.detach()"
            yield False, Append(span, ".detach()") if plain else Replace(span, made), name
        elif isinstance(store.target, ast.Attribute):
            yield from ((False, each, name) for each in operation(evidence, store))
    argument = next(iter(fault.copied.site.args), None)
    if argument is None or held.path is None:
        return
    text = program.source(argument)
    if not held.path:
        yield True, Append(program.span(argument), ".detach()"), short(text, 30)
    elif isinstance(argument, (ast.Name, ast.Attribute)):
        whole = f"{text}{held.path}"
        yield True, InsertBefore(program.span(program.statement_of(argument)), f"{whole} = {whole}.detach()"), short(whole, 30)

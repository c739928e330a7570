"""State that chains every iteration to the one before although no backward pass ever walks it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.autograd.graph import reaches, split_loop
from graphfix.codemods.accumulated_graph import adds, growths, is_cut_at_once, operands
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance
from graphfix.model import Applicability, Finding, Fix, InsertAfter
from graphfix.repairs.detach import detached
from graphfix.repairs.fixes import fix, short


@dataclass(eq=False)
class Chain:
    """All stores through one assignment target whose place keeps growing; `kept_alive`: nothing of its graph is ever freed."""

    stores: list[Store] = field(default_factory=list)
    escaped: bool = False
    freed: bool = True
    runs: set[str] = field(default_factory=set)


def unwalked(evidence: Evidence, attributes: bool, code: str, name: str) -> Iterator[Finding]:
    """Findings for growing state in attributes, or in plain names."""
    chains: dict[ast.AST, Chain] = {}
    walked: set[ast.AST] = set()
    for run in evidence.tape.runs:
        collect(evidence, run, attributes, chains, walked)
    totals = {store.target for growth in growths(evidence) for store in growth.stores}
    for target, chain in chains.items():
        if target in totals:
            continue  # told as a running total
        in_sight = chain.runs == {"module"} and not chain.escaped
        if target in walked or not (chain.freed or in_sight):
            continue
        if not chain.freed and any(evidence.leaves_function(store) for store in chain.stores):
            continue
        if not all(evidence.facts.is_sure(node) for store in chain.stores for node in store.nodes):
            continue
        yield report(evidence, target, chain, code, name)


def collect(evidence: Evidence, run: Run, attributes: bool, chains: dict[ast.AST, Chain], walked: set[ast.AST]) -> None:
    """Add what this run shows; `walked` collects the targets of places whose content some backward pass walks."""
    by_place: dict[tuple[int, object], list[Store]] = {}
    for store in run.recording.stores:
        if evidence.regions.covers(store):
            continue  # no_grad is the repair there
        by_place.setdefault((id(store.place[0]), store.place[1]), []).append(store)
    for stores in by_place.values():
        kind = isinstance(stores[0].place[0], Instance)
        if any(node.walks for store in stores for node in store.nodes):
            walked.update(store.target for store in stores)
            continue
        growing = [s for s in stores if kind is attributes and s.how == "=" and evidence.holds(s.target) and grows(s, stores)]
        for store in growing:
            chain = chains.setdefault(store.target, Chain())
            chain.runs.add(run.entry)
            chain.stores.append(store)
            chain.freed &= all(evidence.facts.is_spent(node) for node in store.nodes)
            chain.escaped |= any(node in run.recording.escapes for other in stores for node in other.nodes)


def grows(store: Store, stores: list[Store]) -> bool:
    """Whether what an earlier iteration left in the place is part of what this one puts there, other than as a running total."""
    if not isinstance(store.target, (ast.Name, ast.Attribute)):
        return False
    if is_cut_at_once(store, stores):
        return False
    if all(store.trace[-1] not in node.trace for node in store.nodes):
        return False  # made elsewhere and only passed on here
    for earlier in stores:
        if earlier.order >= store.order:
            return False
        if split_loop(earlier.context, store.context) is not None and reaches(store.nodes, set(earlier.nodes)):
            return not adds(operands(store), set(earlier.nodes))
    return False


def report(evidence: Evidence, target: ast.AST, chain: Chain, code: str, name: str) -> Finding:
    statement = evidence.program.statement_of(target)
    text = ast.unparse(target)
    story = (evidence.label(target, "each iteration adds its graph to those before, and nobody walks them"),)
    message = f"`{short(text)}` keeps the graph of every iteration alive"
    return Finding(
        code, name, message, evidence.program.path, evidence.span(statement), story, repair_of(evidence, statement, text, chain)
    )


def repair_of(evidence: Evidence, statement: ast.stmt, text: str, chain: Chain) -> Fix | None:
    """Detach right after the store: nobody walks what is stored, so nothing is lost."""
    values = {detached(store.value, text) for store in chain.stores}
    if len(values) != 1 or None in values or not isinstance(statement, ast.Assign):
        return None
    after = InsertAfter(evidence.span(statement), f"{text} = {values.pop()}")
    return fix(Applicability.SAFE, f"detach `{short(text)}` where it is stored", after)

"""Places that keep graphs of earlier iterations, and the expressions that bring those graphs in."""

from __future__ import annotations

import ast
import bisect
import math
from collections.abc import Container, Iterator
from dataclasses import field

from graphfix.analysis.contributors import at_caller, contributors, is_tensor_always, stored_nodes
from graphfix.analysis.entries import MODULE, EntryPoint
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.forwards import is_module_call
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.graph import Node
from graphfix.autograd.iteration import LoopEntry
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.recording import Store
from graphfix.lazy_dataclass import dataclass


@dataclass(eq=False)
class GrowingPlace:
    """A place in the source that keeps graphs of earlier iterations, over all runs: a total, a container, a state.

    `stores`: all that is put there; `chained`: what was seen to be made of the place's older content.
    `walked`: a backward pass walks what it holds; `raises`: that walk meets a freed graph. `freed`: walks have freed all that
    is put there, of state before more is added to it; `ever_freed`: some of it. `escaped`: code that is not in sight gets hold
    of it. `keeps_one`: each value takes the place of the one before. `entries`: those that show it. `second`: the backward passes that
    take a freed graph out of it. `needed`: the iteration that stores a graph goes backward through it.
    `expressions`: what to cut, empty where that is not known.
    """

    stores: list[Store] = field(default_factory=list)
    chained: list[Store] = field(default_factory=list)
    entries: set[EntryPoint] = field(default_factory=set)
    walked: bool = False
    raises: bool = False
    freed: bool = True
    ever_freed: bool = False
    escaped: bool = False
    keeps_one: bool = False
    needed: bool = False
    second: list[SecondBackward] = field(default_factory=list)
    expressions: list[ast.expr] = field(default_factory=list)

    @property
    def is_of_script(self) -> bool:
        """Whether only the file as it is started shows the place: then every reader is simulated."""
        return self.entries == {MODULE}

    def note(self, run: Run, stores: list[Store], freed: bool) -> None:
        """Take in what a run puts there: whether walks have freed it, and who else gets it."""
        self.entries.add(run.entry)
        self.freed &= freed
        self.ever_freed |= freed
        self.escaped |= any(node in run.recording.escapes for store in stores for node in store.nodes)


def end_of(entry: LoopEntry) -> float:
    """When the call ends in which a loop runs: what is freed later is not there any more."""
    return entry.frame.ended if isinstance(entry.frame, Frame) else math.inf


def makes_graph(node: Node, entry: LoopEntry, gradients: Container[Node], passed: Container[Node] = ()) -> bool:
    """Whether a loop makes the graph of `node`: in a call, which ends, more than parts or other forms of what had its graph before the loop.

    `gradients`: what `autograd.grad` has recorded; those of a graph from before the loop are a form of it. `passed`: where what the loop
    carries itself begins.
    """
    if end_of(entry) == math.inf:
        return True
    seen = {node}
    pending = [node]
    while pending:
        current = pending.pop()
        if current in passed or not is_made_in(current, entry):
            continue
        if current.leaves and current not in gradients or not current.parents:
            return True
        pending.extend(parent for parent in current.parents if parent not in seen)
        seen.update(current.parents)
    return False


def is_made_in(node: Node, entry: LoopEntry) -> bool:
    """Whether a node is made in a loop, or by a generator, which makes what it yields when a loop takes it."""
    return any(active is entry for active, _ in node.context) or any(frame.yielded for frame, _ in node.trace)


def is_cut_at_once(store: Store, stores: list[Store]) -> bool:
    """Whether the same iteration puts something without a graph in the place of what was stored."""
    number = bisect.bisect_right(stores, store.order, key=lambda each: each.order)
    later = stores[number] if number < len(stores) else None
    return later is not None and not later.nodes and later.context == store.context


def holders(stores: list[Store]) -> dict[Node, list[Store]]:
    """For each node the stores that put it into their place."""
    holding: dict[Node, list[Store]] = {}
    for store in stores:
        for node in store.nodes:
            holding.setdefault(node, []).append(store)
    return holding


def by_place(run: Run) -> Iterator[list[Store]]:
    """The stores to each place."""
    found: dict[tuple[int, object], list[Store]] = {}
    for store in run.recording.stores:
        found.setdefault((id(store.place[0]), store.place[1]), []).append(store)
    yield from found.values()


def in_forward(store: Store) -> bool:
    """Whether a module's forward pass puts it away: what that adds up is part of what it gives."""
    return any(is_module_call(frame) for frame, _ in store.trace)


def ends_with_pass(store: Store) -> bool:
    """Whether it is put into a variable of a forward pass: the graph is that of what the pass gives, and ends with it."""
    return isinstance(store.place[0], Env) and store.place[0].parent is not None and in_forward(store)


def is_sure(evidence: Evidence, store: Store) -> bool:
    """Whether what is added is known to be part of a graph: what an unknown call made of one need not be."""
    return any(evidence.facts.is_sure(node) for node in store.nodes)


def expressions_to_cut(evidence: Evidence, stores: list[Store]) -> list[ast.expr]:
    """The expressions that bring a graph into what `stores` put away; empty where one of them cannot be cut for sure."""
    facts, program = evidence.facts, evidence.program
    own = stored_nodes(evidence.tape, stores)
    found: dict[ast.expr, None] = {}
    alike = {
        (store.value_site, not store.old, tuple(statement for _, statement in store.trace)): store
        for store in stores
        if store.nodes
    }
    for store in alike.values():
        parts = contributors(facts, store.value_site, own) if store.value_site is not None else []
        if not parts and not store.old and store.value_site is not None:
            parts = contributors(facts, store.value_site, {})  # what the place starts with
        inside = [part for part in parts if evidence.program.holds(part)]
        if parts and len(inside) == len(parts) and all(is_tensor_always(facts, part) for part in parts):
            found.update(dict.fromkeys(inside))
            continue
        wanted = {node for part in parts for use in facts.uses[part] for node in use.nodes}
        wanted = wanted or set(store.nodes)
        lifted = at_caller(facts, program, store.trace, wanted)
        if not lifted:
            if not parts and set(store.nodes) <= own.keys() and store.old:
                continue
            return []
        found.update(dict.fromkeys(lifted))
    return sorted(found, key=lambda e: (e.lineno, e.col_offset))

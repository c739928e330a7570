"""A list, deque, dict or replay memory keeps the graph of every value that is put into it.

## What it does
Finds tensors that are put into a container which outlives the iteration, with a graph that no later backward pass uses:
histories of losses, collected outputs, stored experience.

## Why is this bad
Every stored tensor keeps its graph alive, so that memory grows with each iteration. A stored value that is used in a
later loss brings its old graph along: the walk raises, as that graph has been freed or its parameters have been stepped.

## Example
```python
history = []
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
```

## Use instead
```python
    history.append(loss.item())
```

## Fix safety
`.item()` where every reader of the container takes a number, `.detach()` otherwise. Safe where the stored graph was freed by
its own backward pass, as a later walk through the container would raise, or where every reader is in sight and none walks
it. Log-probabilities and the like that are stored to be walked later are left alone.

## References
- https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Run
from graphfix.analysis.second_backward import Cause, is_live, program_of
from graphfix.autograd.graph import history, split_loop
from graphfix.codemods.accumulated_graph import is_sure
from graphfix.codemods.base import rule
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance, Mapping, Opaque, Sequence
from graphfix.model import Finding
from graphfix.repairs.cut import expressions_to_cut, plan
from graphfix.repairs.fixes import fix, safe_if, short

PUTS = frozenset(("append", "extend", "="))


@dataclass(eq=False)
class Pile:
    """One place in the source that piles up graphs in a container, over all runs."""

    stores: list[Store] = field(default_factory=list)
    freed: bool = True
    ever_freed: bool = False
    walked: bool = False
    escaped: bool = False
    raises: bool = False
    runs: set[str] = field(default_factory=set)
    expressions: list[ast.expr] = field(default_factory=list)


def find(evidence: Evidence) -> Iterator[Finding]:
    told = set()
    for covered in (False, True):
        for pile in piles_of(evidence, covered):
            finding = report(evidence, pile)
            if finding is not None and finding.span not in told:
                told.add(finding.span)
                yield dataclasses.replace(finding, fix=None) if covered else finding  # no_grad is the repair there


def cuts(evidence: Evidence) -> Iterator[ast.expr]:
    for pile in piles_of(evidence):
        yield from pile.expressions


@functools.lru_cache(maxsize=2)
def piles_of(evidence: Evidence, covered: bool = False) -> list[Pile]:
    """The piles that are faults, each with the expressions to cut.

    `covered`: those in an evaluation that another rule puts under no_grad, instead of the others.
    """
    piles: dict[ast.AST, Pile] = {}
    slots: dict[ast.AST, Pile] = {}
    for run in evidence.tape.runs:
        collect(evidence, run, piles, covered)
        if not covered:
            collect_slots(evidence, run, slots)
    if not covered:
        taken_out(evidence, piles)
    found = [pile for pile in {**slots, **piles}.values() if is_fault(evidence, pile)]
    for pile in found:
        pile.expressions = expressions_to_cut(evidence, pile.stores)
        if pile.raises and not evidence.loses_nothing(pile.expressions):
            pile.expressions = []  # the same iteration walks what it stores
    return found


def is_fault(evidence: Evidence, pile: Pile) -> bool:
    if pile.walked and not pile.raises or not any(is_sure(evidence, store) for store in pile.stores):
        return False
    return pile.ever_freed or (in_sight(pile) and not any(evidence.leaves_function(store) for store in pile.stores))


def in_sight(pile: Pile) -> bool:
    """Whether values that no walk frees are surely tensors, in a script of which every reader is simulated."""
    return not pile.escaped and pile.runs == {"module"} and all(node.certain for store in pile.stores for node in store.nodes)


def collect(evidence: Evidence, run: Run, piles: dict[ast.AST, Pile], covered: bool) -> None:
    """Stores beside what an earlier iteration put into the same container."""
    by_holder: dict[int, list[Store]] = {}
    for store in run.recording.stores:
        if store.holder is None or store.how not in PUTS or isinstance(store.holder, Opaque):
            continue
        if evidence.regions.covers(store) is covered and evidence.tells(store):
            by_holder.setdefault(id(store.holder), []).append(store)
    for stores in by_holder.values():
        for later in stores:
            older = [s for s in stores if s.order < later.order and s.target is later.target and kept(s, later)]
            for store in older:
                note(evidence.facts, run, piles.setdefault(store.target, Pile()), store, later)


def kept(earlier: Store, later: Store) -> bool:
    """Whether the container still holds what an earlier iteration put there, once the later store has taken its place."""
    stay = set(later.beside) - set(later.old)
    return split_loop(earlier.context, later.context) is not None and any(node in stay for node in earlier.nodes)


def note(facts: Facts, run: Run, pile: Pile, store: Store, later: Store) -> None:
    pile.stores.extend((store, later))
    pile.runs.add(run.entry)
    freed = all(facts.is_spent(node, later.order) for node in store.nodes)
    pile.freed &= freed
    pile.ever_freed |= freed
    if not freed:
        pile.walked |= any(event.order > store.order for node in store.nodes for event in node.walks)
    pile.escaped |= any(node in run.recording.escapes for node in store.nodes)


def collect_slots(evidence: Evidence, run: Run, slots: dict[ast.AST, Pile]) -> None:
    """Places that hold one value from an earlier iteration, such as the best so far, with its graph.

    It is one graph, but a whole one, with all tensors that it saved, unless a walk has freed them: then it has to be a
    value that was put away on purpose, not just a name that is computed anew in some iterations.
    """
    by_place: dict[tuple[int, object], list[Store]] = {}
    for store in run.recording.stores:
        by_place.setdefault((id(store.place[0]), store.place[1]), []).append(store)
    for stores in by_place.values():
        last = stores[-1]
        if not evidence.tells(last):
            continue
        if last.how == "=" and last.nodes and not isinstance(last.holder, Sequence) and stays(run, last):
            pile = slots.setdefault(last.target, Pile())
            pile.stores.append(last)
            pile.runs.add(run.entry)
            computed = any(last.trace[-1] in node.trace for node in last.nodes)
            freed = not computed and all(evidence.facts.is_spent(node) for node in last.nodes)
            pile.freed &= freed
            pile.ever_freed |= freed
            if not freed:
                pile.walked |= any(node.walks for node in history(list(last.nodes)))
            pile.escaped |= any(node in run.recording.escapes for node in last.nodes)


def stays(run: Run, store: Store) -> bool:
    """Whether the value outlives its iteration, in a place that a later iteration may read before it is bound anew."""
    for boundary in run.recording.boundaries:
        entry = boundary.entry
        if boundary.order > store.order and any(active is entry for active, _ in store.context):
            if isinstance(store.target, ast.Name):
                if boundary.frame is store.trace[-1][0] and is_live(entry.loop, store.target.id):
                    return True
            owner = store.place[0]
            if isinstance(owner, (Instance, Mapping)) and all(active is not entry for active, _ in owner.context or ()):
                return True
    return False


def taken_out(evidence: Evidence, piles: dict[ast.AST, Pile]) -> None:
    """Containers out of which a freed graph is walked."""
    for walk in evidence.second_walks:
        if walk.cause is not Cause.KEPT:
            continue
        for store in walk.stores:
            if store.how in PUTS and store.holder is not None:
                pile = piles.setdefault(store.target, Pile())
                pile.stores.append(store)
                pile.raises = True
                pile.ever_freed = True
                pile.runs.add(walk.entry)


def report(evidence: Evidence, pile: Pile) -> Finding | None:
    local = pile.runs == {"module"} or not any(held_by_instance(evidence, store) for store in pile.stores)
    cut = plan(evidence, pile.expressions, local)
    own = [store for store in pile.stores if program_of(store.trace) is evidence.program]
    if cut is not None:
        blamed = evidence.program.statement_of(cut.texts[0][0])
    elif own:
        blamed = evidence.program.statement_of(own[0].target)
    else:
        return None
    name = short(ast.unparse(pile.stores[0].target))
    repair = fix(safe_if(pile.freed or not pile.escaped), cut.title, *cut.operations(evidence)) if cut is not None else None
    story = [evidence.label(blamed, "puts a tensor with its graph into a container that outlives the iteration")]
    if own and evidence.program.statement_of(own[0].target) is not blamed:
        story.append(evidence.label(own[0].target, "it is kept here"))
    message = f"`{name}` keeps the graph of every value put into it"
    return Finding("GF102", "stored-graph", message, evidence.program.path, evidence.span(blamed), tuple(story), repair)


def held_by_instance(evidence: Evidence, store: Store) -> bool:
    """Whether the container is an attribute, which code that is not in sight may read."""
    return isinstance(store.target, ast.Attribute) or isinstance(store.holder, Instance)


RULE = rule("GF102", "stored-graph", globals(), find, cuts=cuts, witnessed=True)

"""Two walks of one iteration that disturb each other, and the detach that parts them where no gradient is lost by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from graphfix.analysis.contributors import is_tensor_always
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import Cause
from graphfix.analysis.unretained import unretained
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.gradients import severable
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Store, StoreKind, Update
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree

# What a graph may be retained for although its gradient is used by nobody: another loss, or a later iteration
RETAINED_FOR = (Cause.SEQUENTIAL, Cause.EXTERNAL, Cause.KEPT)


@dataclass(eq=False)
class Conflict:
    """One walk, in one run, that meets what was `freed` by the walk `first` or made `stale` by the steps `steps`."""

    run: Run
    event: BackwardPass
    first: BackwardPass | None
    freed: set[Node] = field(default_factory=set)
    stale: set[Node] = field(default_factory=set)
    steps: list[Update] = field(default_factory=list)


@dataclass(eq=False)
class Meeting:
    """All conflicts of one pair of backward calls. `retained`: it runs, as the first call retains the graph for the second.

    `evidence` is that of the file, or of the trial that shows the conflict.
    """

    site: ast.Call
    evidence: Evidence
    conflicts: list[Conflict] = field(default_factory=list)
    retained: bool = False
    always: bool = True
    cuts: list[ast.expr] | None = None

    @property
    def is_stale(self) -> bool:
        return any(conflict.stale for conflict in self.conflicts)


def weighs_only(meeting: Meeting) -> bool:
    """Whether what is cut is a weight or a target of the later losses: no parameter, and no call out of sight that may have some, lies on its
    way to them, so that it is no network's input.
    """
    handed = {node for cut in meeting.cuts or () for use in meeting.evidence.facts.uses.get(cut, ()) for node in use.nodes}
    for conflict in meeting.conflicts:
        above: set[Node] = set()
        for node in sorted(conflict.event.below, key=lambda each: each.order):
            if node not in handed and any(parent in handed or parent in above for parent in node.parents):
                above.add(node)
        if not above or any(node.leaves or node.callee is not None for node in above):
            return False
    return bool(handed)


@asked_once
def meetings(evidence: Evidence) -> list[Meeting]:
    """Every pair of backward calls that is in conflict, in source order."""
    found: dict[tuple[ast.AST, ast.AST | None, bool], Meeting] = {}
    hidden = unretained(evidence)
    told = [(walk, evidence) for walk in evidence.second_backwards]
    told += [(walk, hidden.evidence) for walk in hidden.walks(*RETAINED_FOR)] if hidden is not None else []
    for walk, seen in told:
        retained = seen is not evidence
        here = walk.cause is Cause.SEQUENTIAL and walk.loop is None
        if (here or retained and walk.loop is not None) and evidence.program.holds(walk.walk.site):
            key = (walk.walk.site, walk.freed_by.site, retained)
            meeting = found.setdefault(key, Meeting(walk.walk.site, seen, retained=retained))
            meeting.always &= walk.always
            for run, event, hit in walk.hits:
                note(meeting, run, event, hit.freed_by, hit.node)
    for run in evidence.tape.runs:
        for event in run.recording.walks:
            if any(s.certain for s in event.stale) and not event.hits and evidence.program.holds(event.site):
                meeting = found.setdefault((event.site, None, False), Meeting(event.site, evidence))
                note(meeting, run, event, None, None)
    stale = {meeting.site for meeting in found.values() if meeting.is_stale}
    found = {key: meeting for key, meeting in found.items() if not (meeting.retained and meeting.site in stale)}
    for meeting in found.values():
        meeting.always &= is_always_stale(evidence, meeting)
        meeting.cuts = detaches(meeting.evidence, meeting)
    return sorted(found.values(), key=lambda m: (m.site.lineno, m.site.col_offset, m.retained))


def note(meeting: Meeting, run: Run, event: BackwardPass, first: BackwardPass | None, freed: Node | None) -> None:
    conflict = next((c for c in meeting.conflicts if c.event is event), None)
    if conflict is None:
        conflict = Conflict(run, event, first)
        meeting.conflicts.append(conflict)
        if not meeting.retained:
            conflict.stale, conflict.steps = stale_below(run, event)
    if freed is not None:
        conflict.freed.add(freed)


def stale_below(run: Run, event: BackwardPass) -> tuple[set[Node], list[Update]]:
    """The nodes of the walk that had saved a parameter which was stepped since, and the steps."""
    stale: set[Node] = set()
    steps: dict[Update, None] = {}
    changes = [u for u in run.recording.updates if u.steps and u.order < event.order]
    for node in event.below:
        saved = {leaf for leaf, version in zip(node.leaves, node.versions) if version is not None}
        saved |= {node.guessed[0]} if node.guessed is not None else set()
        for update in changes if saved else ():
            if update.order > node.order and (update.leaves | update.guessed) & saved:
                stale.add(node)
                steps[update] = None
    return stale, list(steps)


def is_always_stale(evidence: Evidence, meeting: Meeting) -> bool:
    """Whether every walk by this call that comes after a step raises, in all runs."""
    if not meeting.is_stale:
        return True
    steps = {update.site for conflict in meeting.conflicts for update in conflict.steps}
    known = {conflict.event for conflict in meeting.conflicts}
    return all(
        event in known or event.hits or not any(u.site in steps and u.order < event.order for u in run.recording.updates)
        for run in evidence.tape.runs
        for event in run.walks_at.get(meeting.site, ())
    )


def detaches(evidence: Evidence, meeting: Meeting) -> list[ast.expr] | None:
    """The expressions to detach so that the walks no longer meet and no gradient that is used gets lost; None where there are none."""
    answers: dict[tuple[ast.expr, ...], None] = {}
    for conflict in meeting.conflicts:
        run = conflict.run
        walks = [event for event in (conflict.first, conflict.event) if event is not None]
        asked_for = run.gradients_asked_for
        if asked_for and not all(asked_for.isdisjoint(event.below) for event in walks):
            return None  # a penalty on gradients needs the way to what they are taken for
        found = None
        if conflict.first is not None and not conflict.stale:
            found = cut_points(evidence, run, severable(run.fates, conflict.first, conflict.freed))
        found = found or cut_points(evidence, run, severable(run.fates, conflict.event, conflict.freed | conflict.stale))
        if not found:
            return None
        answers[tuple(found)] = None
    return list(next(iter(answers))) if len(answers) == 1 else None


def cut_points(evidence: Evidence, run: Run, edges: list[tuple[Node, Node]] | None) -> list[ast.expr] | None:
    """An expression for each edge at which a detach cuts that edge and no gradient that is used."""
    found: dict[ast.expr, None] = {}
    for node, parent in edges or ():
        expression = where_stored(evidence, run, parent) or cut_point(evidence, run, node, parent)
        if expression is None:
            return None
        found[expression] = None
    return sorted(found, key=lambda e: (e.lineno, e.col_offset)) or None


def cut_point(evidence: Evidence, run: Run, node: Node, parent: Node) -> ast.expr | None:
    """An expression that brings `parent` into `node`; or a variable from which that is computed and nothing else."""
    highest: ast.expr | None = None
    for edge in straight_down(node, parent):
        # what a function does for several callers may not be cut, what one of them gives it may
        passed = [each for each in passing(evidence, *edge) if not carries_used(evidence, run, each)]
        highest = highest or next(iter(passed), None)
        named = next((e for e in passed if isinstance(e, ast.Name)), None)
        if named is not None:
            return named
    return highest


def straight_down(node: Node, parent: Node) -> Iterator[tuple[Node, Node]]:
    """An edge, and those below it that carry the very same gradient on: cutting one is cutting the other."""
    yield node, parent
    while len(parent.parents) == 1 and not parent.leaves:
        node, parent = parent, parent.parents[0]
        yield node, parent


def where_stored(evidence: Evidence, run: Run, parent: Node) -> ast.expr | None:
    """The expression that is bound to a name, where no walk of the run sends a gradient through it that may be used."""
    if any(parent in run.fates.leading(event) for event in run.recording.walks):
        return None
    for store in parent.stores:
        if (
            isinstance(store, Store)
            and store.kind is StoreKind.ASSIGNED
            and isinstance(store.target, ast.Name)
            and store.value_site is not None
        ):
            value = store.value_site
            if (
                evidence.program.holds(value)
                and is_tensor_always(evidence.facts, value)
                and not serves_others(evidence, run, value)
            ):
                return value
    return None


def serves_others(evidence: Evidence, run: Run, value: ast.expr) -> bool:
    """Whether an expression, evaluated once more, hands on what a walk sends a gradient through: a function has many callers."""
    made = {node for use in evidence.facts.uses.get(value, ()) for node in use.nodes}
    return any(not made.isdisjoint(run.fates.leading(event)) for event in run.recording.walks)


def passing(evidence: Evidence, node: Node, parent: Node) -> Iterator[ast.expr]:
    """The expressions by which `parent` gets into the operation that made `node`, the caller's before the callee's."""
    for _, statement in node.trace:
        if evidence.program.holds(statement):
            inside = [part for part in subtree(statement) if isinstance(part, ast.expr)]
            for part in sorted(inside, key=lambda e: (e.end_col_offset or 0) - e.col_offset):
                uses = evidence.facts.uses.get(part, ())
                if any(parent in use.nodes for use in uses) and is_tensor_always(evidence.facts, part):
                    yield part


def carries_used(evidence: Evidence, run: Run, expression: ast.expr) -> bool:
    """Whether some walk sends a gradient that may be used through what `expression` hands on."""
    statement = evidence.program.statement_of(expression)
    handed = {node for use in evidence.facts.uses.get(expression, ()) for node in use.nodes}
    for event in run.recording.walks:
        leading = run.fates.leading(event)
        for node in event.below:
            if any(parent in handed and parent in leading for parent in node.parents):
                if any(active is statement for _, active in node.trace):
                    return True
    return False

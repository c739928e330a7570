"""Graphs that are built outside of a loop and walked in it, and how they are told."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.analysis.subject import Subject, Tell
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import LoopEntry
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Finding, Label, in_time
from graphfix.source.quote import short


def outer_births(evidence: Evidence, walk: SecondBackward) -> list[Node]:
    """What this file makes outside of the loop of the walk, or what a statement of it, beside the loop, has made in other files."""
    nodes = external_nodes(walk)
    births = [node for node in nodes if evidence.program.holds(node.site)]
    if not births:
        return nodes if nodes and all(statements_of(evidence, walk, [node]) for node in nodes) else []
    return births


def external_nodes(walk: SecondBackward) -> list[Node]:
    """The nodes below the walked losses that were made before the loop was entered."""
    found: dict[Node, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        for node in history([hit.node]):
            if all(active is not entry for active, _ in node.context):
                found[node] = None
    return list(found)


def statements_of(evidence: Evidence, walk: SecondBackward, nodes: list[Node]) -> list[ast.stmt]:
    """The statements of the loop's function that made the nodes, in source order."""
    found: dict[ast.stmt, None] = {}
    for node in nodes:
        for frame, statement in node.trace:
            if walk.frame is not None and frame.definition is walk.frame.definition and evidence.program.holds(statement):
                found[statement] = None
                break
    return sorted(found, key=lambda s: s.lineno)


def trained_leaves(nodes: list[Node]) -> list[Leaf]:
    return [leaf for node in nodes for leaf in node.leaves if leaf.trained]


def trained_inside(walk: SecondBackward, leaves: list[Leaf]) -> bool:
    """Whether each of `leaves` also gets a gradient from a graph that is made anew in each iteration."""
    run, _, _ = walk.hits[0]
    _, entry = walk.entries[0]
    fresh = {
        leaf
        for event in run.recording.walks
        for node in event.nodes
        if any(active is entry for active, _ in node.context)
        for leaf in node.leaves
    }
    return all(any(leaf.site is other.site for other in fresh) for leaf in leaves)


def only_weighs(walk: SecondBackward, leaves: list[Leaf]) -> bool:
    """Whether what was computed from `leaves` before the loop is no more than a weight of what other trained parameters compute in it.

    So an advantage weighs the log-probabilities of a policy: it is a constant for the policy's loss.
    """
    own = {leaf.site for leaf in leaves}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        fresh = [node for node in hit.path if any(active is entry for active, _ in node.context)]
        if any(node.leaves or node.callee is not None for node in fresh):
            return False
        beside = [parent for node in fresh if node.saves for parent in node.parents if parent not in hit.path]
        if not any(leaf.trained and leaf.site not in own for node in history(beside) for leaf in node.leaves):
            return False
    return True


def gradient_is_dropped(walk: SecondBackward, leaves: list[Leaf]) -> bool:
    """Whether the gradient that the first walk leaves in `leaves` is cleared before any step uses it, in every run.

    Then a detach changes nothing even for a loop of one iteration.
    """
    wanted = {leaf.site for leaf in leaves}
    for run, _, hit in walk.hits:
        pending = set(wanted)
        for update in run.recording.updates:
            if update.order < hit.freed_by.order or not pending:
                continue
            touched = {leaf.site for leaf in update.leaves} & pending
            if update.steps and (touched or not update.complete):
                return False
            pending -= touched
        if pending:
            return False
    return True


def external(evidence: Evidence, walks: list[SecondBackward], tell: Tell) -> Iterator[Finding]:
    """A finding for each computation outside of a loop that these walks meet again."""
    done: set[ast.AST] = set()
    for walk in walks:
        if walk.cause is not Cause.EXTERNAL or walk.loop is None or not evidence.program.holds(walk.walk.site):
            continue
        nodes, births = external_nodes(walk), outer_births(evidence, walk)
        if not births:
            continue
        statements = statements_of(evidence, walk, nodes)
        if not statements or not are_tensors(evidence, statements):
            stored = bound_outside(evidence, walk)
            if stored and not done.isdisjoint(stored):
                continue
            if stored:
                done.update(stored)
                names = ", ".join(f"`{short(ast.unparse(statement.targets[0]), 30)}`" for statement in stored)
                yield told(evidence, walk, stored[0], short(names, 20), made_once(evidence, births, walk), tell)
                continue
        blamed = statements[-1] if statements else evidence.program.statement_of(births[0].site)
        if blamed in done:
            continue
        done.add(blamed)
        what = short(ast.unparse(blamed.targets[0])) if isinstance(blamed, ast.Assign) else short(ast.unparse(births[0].site))
        yield told(evidence, walk, blamed, f"`{what}`", made_once(evidence, births, walk), tell)


def told(evidence: Evidence, walk: SecondBackward, built: ast.stmt, what: str, subject: Subject, tell: Tell) -> Finding:
    """The finding for a graph that outlives the iteration that frees it."""
    message = f"{what} is computed before the loop and used by every backward()"
    span = evidence.program.span(built)
    return tell(evidence, message, span, met_again(evidence, built, walk), subject=subject, shown_by=walk)


def made_once(evidence: Evidence, births: list[Node], walk: SecondBackward) -> Subject:
    """The subject of a finding about what is computed before a loop: the statements that do so, their graphs, and where they are met again."""
    statements = (evidence.program.statement_of(node.site) for node in births if evidence.program.holds(node.site))
    return Subject(about=frozenset((*statements, *history(births), *walk.meetings)))


def met_again(evidence: Evidence, built: ast.stmt, walk: SecondBackward) -> tuple[Label, ...]:
    """The story of a graph that outlives the iteration that frees it."""
    return in_time(
        evidence.label(built, "computed once, outside the loop"),
        evidence.label(walk.walk.site, "iteration 1 frees its graph"),
        evidence.label(walk.walk.site, "in iteration 2 backward() goes through the freed graph and raises"),
    )


def bound_outside(evidence: Evidence, walk: SecondBackward) -> list[ast.Assign]:
    """The assignments, in another function, that keep the outer graph: an `__init__` that computes targets."""
    found: dict[ast.Assign, None] = {}
    for (_, _, hit), (_, entry) in zip(walk.hits, walk.entries):
        outside = (node for node in reversed(hit.path) if all(active is not entry for active, _ in node.context))
        statement = next(filter(None, (assignment_of(evidence, node, entry) for node in outside)), None)
        if statement is None:
            return []
        found[statement] = None
    return sorted(found, key=lambda s: s.lineno)


def assignment_of(evidence: Evidence, node: Node, entry: LoopEntry | None) -> ast.Assign | None:
    """The assignment that computes and keeps a node outside of a loop, or else the last one that keeps it."""
    program = evidence.program
    statements = [program.statement_of(store.target) for store in kept_in(node, entry) if program.holds(store.target)]
    plain = [each for each in statements if isinstance(each, ast.Assign) and len(each.targets) == 1]
    birth = program.statement_of(node.site) if program.holds(node.site) else None
    return birth if isinstance(birth, ast.Assign) and birth in plain else plain[-1] if plain else None


def kept_in(node: Node, entry: LoopEntry | None) -> list[Store]:
    """Where a node is kept as a tensor, or in a sequence, outside of a loop."""
    kept = (store for store in node.stores if isinstance(store, Store) and store.value_site is not None)
    outside = (store for store in kept if all(active is not entry for active, _ in store.context))
    return [store for store in outside if isinstance(store.value, (Tensor, Sequence))]


def are_tensors(evidence: Evidence, statements: list[ast.stmt]) -> bool:
    """Whether each statement binds tensors with a graph: not a module that computes one when it is built."""
    return all(isinstance(s, ast.Assign) and evidence.facts.uses.get(s.value) for s in statements)

"""State that one iteration hands to the next with its graph, and how it is told."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward, owner_of
from graphfix.analysis.subject import Draft, Tell
from graphfix.autograd.iteration import Context
from graphfix.autograd.symptoms import SECOND_WALK, WRITTEN_IN_PLACE
from graphfix.interpreter.recording import Store
from graphfix.model import Finding, Label, in_time
from graphfix.source.subtree import subtree

LONGEST = 16  # two names of a headline together


def by_carrier(walks: list[SecondBackward]) -> dict[tuple[ast.AST | None, str], list[SecondBackward]]:
    """The walks over carried state, by loop and name; what an inner loop detaches is detached for the loops around it."""
    groups: dict[tuple[ast.AST | None, str], list[SecondBackward]] = {}
    for walk in walks:
        if walk.cause is Cause.CARRIED:
            for carrier in walk.carriers:
                groups.setdefault((walk.loop, carrier), []).append(walk)
    inside = {
        (loop, carrier)
        for loop, carrier in groups
        if loop is not None
        and any(other is not None and other is not loop and name == carrier and other in subtree(loop) for other, name in groups)
    }
    return {key: group for key, group in groups.items() if key not in inside}


def kept_at(evidence: Evidence, loop: ast.AST | None, carrier: str, walk: SecondBackward) -> ast.AST | None:
    """Where an iteration leaves its graph in `carrier`; None where that is in another file."""
    crossing = walk.carriers[carrier]
    stores = [s for s in crossing.stores if isinstance(s, Store) and evidence.program.holds(s.target)]
    label = carrier.rsplit(".", 1)[-1]
    named = [s for s in stores if ast.unparse(s.target).rsplit(".", 1)[-1] == label]
    inside = set(subtree(loop)) if loop is not None else set()
    candidates = [s for s in named if s.target in inside] or named or stores
    if candidates:
        return candidates[-1].target
    where = crossing.site if evidence.program.holds(crossing.site) else walk.walk.site
    return where if evidence.program.holds(where) else None


def carried(evidence: Evidence, walks: list[SecondBackward], attributes: bool, tell: Tell) -> Iterator[Finding]:
    """Findings for state that crosses the boundary of a loop: in attributes, or in plain names. What brings it into one walk is one fault."""
    faults: list[list[tuple[str, Draft]]] = []
    fault_of: dict[object, int] = {}
    for (loop, carrier), group in by_carrier(walks).items():
        if ("." in carrier) is attributes:
            finding = carried_finding(evidence, loop, carrier, group, tell)
            if finding is not None:
                # objects of one class may meet in several walks, which make one story
                alike = tuple(label.span for label in finding.story)
                parts = (group[0], owner_of(carrier))
                at = fault_of.get((loop, alike), fault_of.get((loop, parts), len(faults)))
                fault_of[loop, alike] = fault_of[loop, parts] = at
                if at == len(faults):
                    faults.append([])
                faults[at].append((carrier, finding))
    for together in faults:
        yield as_one(sorted(together, key=lambda pair: (pair[1].story[0].span, pair[0])))


def as_one(together: list[tuple[str, Draft]]) -> Finding:
    """One fault of several carriers, each with its finding: the parts of a state, the layers of a network. All have to be repaired."""
    name, first = together[0]
    if len(together) == 1:
        return first
    shown = first.shown_by
    assert isinstance(shown, SecondBackward)
    every = {
        carrier: node
        for _, each in together
        if isinstance(each.shown_by, SecondBackward)
        for carrier, node in each.shown_by.carriers.items()
    }
    others = f"`{together[1][0]}`" if len(together) == 2 and len(name + together[1][0]) <= LONGEST else f"{len(together) - 1} more"
    message = f"`{name}` and {others} bring the graph of the previous iteration into this one"
    also = [
        replace(each.story[0], message=f"and in `{carrier}`", step=0)
        for carrier, each in together[1:]
        if each.span != first.span and each.story[0].span not in {label.span for label in first.story}
    ]
    return replace(first, message=message, story=(*first.story, *also), shown_by=replace(shown, carriers=every))


def carried_finding(
    evidence: Evidence, loop: ast.AST | None, carrier: str, group: list[SecondBackward], tell: Tell
) -> Draft | None:
    walk = group[0]
    crossing = walk.carriers[carrier]
    where = kept_at(evidence, loop, carrier, walk)
    if where is None:
        return None
    born, again = number_of(crossing.context, loop, 1), number_of(walk.walk.context, loop, 2)
    site = walk.walk.site if evidence.program.holds(walk.walk.site) else None
    story: list[Label] = [evidence.label(where, f"iteration {born} leaves its graph in `{carrier}`")]
    if site is not None:
        # the older part: of a state that is read one iteration late
        oldest = min(number_of(hit.node.context, loop, born) for _, _, hit in walk.hits)
        part = "that graph" if oldest == born else "the older part of that graph"
        story.append(evidence.label(site, f"iteration {number_of(walk.freed_by.context, loop, 1)} frees {part}"))
    below = next(
        (hit.path[hit.path.index(crossing) - 1] for _, _, hit in walk.hits if crossing in hit.path and hit.path.index(crossing)),
        None,
    )
    if below is not None and evidence.program.holds(below.site) and below.site is not where:
        story.append(evidence.label(below.site, f"iteration {again} reads the `{carrier}` of iteration {born} here"))
    stale = meets_changed_first(walk)
    if site is not None:
        met = "needs parameters that a step has changed since," if stale else "goes through the freed graph"
        story.append(evidence.label(site, f"in iteration {again} backward() {met} and raises"))
    blamed = evidence.program.statement_of(where)
    message = f"`{carrier}` brings the graph of the previous iteration into this one"
    return tell(
        evidence,
        message,
        evidence.program.span(blamed),
        in_time(*story),
        shown=WRITTEN_IN_PLACE if stale else SECOND_WALK,
        shown_by=replace(walk, loop=loop, carriers={carrier: crossing}),
    )


def meets_changed_first(walk: SecondBackward) -> bool:
    """Whether autograd, which takes the youngest node first, meets a saved leaf with a newer version before anything freed."""
    changed = max((stale.node.order for stale in walk.walk.stale if stale.certain), default=-1)
    freed = max((hit.node.order for hit in walk.walk.hits if hit.certain), default=-1)
    return changed > freed


def number_of(context: Context, loop: ast.AST | None, unknown: int) -> int:
    """Which iteration of `loop`, from 1, something happens in; `unknown` where it lies in none."""
    return max((1 + iteration for entry, iteration in context if entry.loop is loop), default=unknown)

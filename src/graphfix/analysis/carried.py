"""State that one iteration hands to the next with its graph."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import Cause, SecondBackward
from graphfix.interpreter.recording import Store
from graphfix.source.subtree import subtree


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

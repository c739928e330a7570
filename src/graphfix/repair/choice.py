"""Which of the candidates repairs a fault best: each is tried, and those that hold are ranked."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.subject import Draft
from graphfix.autograd.graph import Node
from graphfix.model import AddArgument, Delete, Fix, NoFix
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.candidates import candidates, kept
from graphfix.repair.ranking import rank, rank_kept
from graphfix.repair.trial import LESS, OTHERWISE, REFUSALS, UNDECIDED, UNFINISHED, UNTRAINED, IsLeft, Verdict, tried
from graphfix.repair.witness import Witness, witness_of
from graphfix.repairs.fixes import fix

MOST_TRIED = 40  # candidates of one finding
TRIAL_STEPS = 200_000  # that they may take together


@dataclass(frozen=True)
class Attempt:
    """A candidate with what its trial came to."""

    candidate: Candidate
    verdict: Verdict


def chosen(evidence: Evidence, finding: Draft, is_left: IsLeft) -> Fix | NoFix | None:
    """The best repair for a finding whose rule knows none, or no safe one; or which edit came closest, and what stands in its way.

    None where nothing is searched, or nothing comes of it. `is_left`: whether the evidence of a repaired program still shows the fault.
    """
    given = finding.fix
    if finding.shown_by is not None and (given is None or not joins(given)):
        witness = witness_of(finding.shown_by)
        made = attempts(evidence, witness, given)
        best = best_of(evidence, finding, witness, made)
    elif finding.shown_by is None and given is None and finding.subject.targets:
        made = all_tried(evidence, kept(evidence, kept_nodes(finding)), is_left=is_left)
        best = min(held_by(made), key=lambda each: rank_kept(each.candidate, finding.span), default=None)
    else:
        return None
    if best is None:
        return closest(finding, made)
    if given is not None and best.candidate.operations == given.operations:
        return given
    candidate = best.candidate
    return fix(candidate.title, *candidate.operations, ground=candidate.ground, doubt=candidate.doubt)


def best_of(evidence: Evidence, finding: Draft, witness: Witness, made: Iterable[Attempt]) -> Attempt | None:
    """The attempt that an expert would choose; one that may still raise only where there is no other."""
    held = sorted(held_by(made), key=lambda each: rank(evidence, witness, each.candidate, each.verdict))
    sound = (each for each in held if not is_written_between(evidence, finding, each.candidate))
    return next(sound, held[0] if held else None)


def closest(finding: Draft, made: Sequence[Attempt]) -> NoFix | None:
    """Why none of the attempts repairs the fault: that of the rule, or else the one which comes closest; None where trials say nothing."""
    if finding.fix is not None:
        own = made[0].verdict.refusal if made else UNFINISHED
        return NoFix(f"\"{finding.fix.title}\" would be no repair: {own}") if own not in UNDECIDED else None
    near = [each for each in made if each.verdict.refusal in (UNTRAINED, OTHERWISE, LESS)]
    if not near:
        return None
    best = max(near, key=lambda each: REFUSALS.index(each.verdict.refusal))
    return NoFix(f"{finding.unfixed}; the closest edit is to {best.candidate.title}, but {best.verdict.refusal}")


def kept_nodes(finding: Draft) -> list[Node]:
    """What a place keeps, the youngest first, and what that was made of."""
    stored = sorted(finding.subject.nodes, key=lambda node: -node.order)
    return list(dict.fromkeys((*stored, *(parent for node in stored for parent in node.parents))))


def is_written_between(evidence: Evidence, finding: Draft, candidate: Candidate) -> bool:
    """Whether a graph is to be kept although code between the two backward passes writes, and it may be to what the graph has saved."""
    from graphfix.repairs.joined import Joined, writes  # asks the flow

    if candidate.effect is not Effect.RETAIN:
        return False
    keeping = fix(candidate.title, *candidate.operations, ground=candidate.ground)
    opened = Joined(evidence).joined(replace(finding, fix=keeping))
    return any(isinstance(each.site, ast.Call) and writes(each.site) for each in opened)


def attempts(evidence: Evidence, witness: Witness, given: Fix | None = None) -> list[Attempt]:
    """All candidates for a backward pass that raises, tried; `given` is one of them."""
    return all_tried(evidence, (*of_fix(given), *candidates(evidence, witness)), witness.event.site)


def all_tried(
    evidence: Evidence,
    every_one: Iterable[Candidate],
    site: ast.AST | None = None,
    is_left: IsLeft | None = None,
) -> list[Attempt]:
    """The candidates with what their trials come to, as many as may be tried, each edit once."""
    found: dict[object, Candidate] = {}
    for each in every_one:
        found.setdefault(each.operations, each)
    most = most_tried(evidence)
    return [Attempt(each, tried(evidence, each, site, is_left)) for each in itertools.islice(found.values(), most)]


def most_tried(evidence: Evidence) -> int:
    """How many candidates may be tried: none of a program that is too large for its budget, as the trial would end early, too."""
    steps = sum(each.steps for each in evidence.tape.interpreters)
    return 0 if evidence.tape.truncated else min(MOST_TRIED, TRIAL_STEPS // max(steps, 1))


def held_by(made: Iterable[Attempt]) -> Iterator[Attempt]:
    """Those that repair the fault."""
    return (each for each in made if not each.verdict.refusal)


def of_fix(given: Fix | None) -> Iterator[Candidate]:
    """A fix as a candidate."""
    if given is not None:
        retains = all(isinstance(each, AddArgument) for each in given.operations)
        yield Candidate(Effect.RETAIN if retains else Effect.OTHER, given.title, given.operations, given.ground, given.doubt)


def joins(given: Fix) -> bool:
    """Whether a fix takes a backward pass away, so that its runs do not compare with those before."""
    return any(isinstance(each, Delete) for each in given.operations)

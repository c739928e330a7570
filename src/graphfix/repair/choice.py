"""Which of the candidates repairs a fault best: each is tried, and those that hold are ranked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from graphfix.analysis.conflicts import Conflict
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.second_backward import SecondBackward
from graphfix.analysis.subject import Draft
from graphfix.autograd.graph import Node
from graphfix.interpreter.recording import Bare, Copied, LeafWrite, Telling, Unreduced, Unregistered, Unused
from graphfix.lazy_dataclass import dataclass
from graphfix.model import OPEN, AddArgument, Applicability, Finding, Fix, NoFix, Severity
from graphfix.obligations.merged_backwards import Joined, writes
from graphfix.obligations.premises import premise_of
from graphfix.obligations.proof import proven
from graphfix.obligations.repeats import repeats
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.candidates import candidates, kept, proposed
from graphfix.repair.leaf_write import written_apart
from graphfix.repair.module_list import as_module_list
from graphfix.repair.ranking import LEFT_OPEN, rank, rank_kept, trains_alike
from graphfix.repair.recopied import recopied
from graphfix.repair.reduced import reduced
from graphfix.repair.regained import regained
from graphfix.repair.trial import LESS, OTHERWISE, REFUSALS, UNDECIDED, UNTRAINED, UNTRIED, IsLeft, Verdict, tried
from graphfix.repair.whole_input import of_the_whole
from graphfix.repair.witness import Witness, witness_of

MOST_TRIED = 40  # candidates of one finding
TRIAL_STEPS = 200_000  # that they may take together
# the repairs of what shows a fault by itself, the best first
MENDING: dict[type[Telling], Callable[[Evidence, Any], Iterator[Candidate]]] = {
    Bare: regained,
    Copied: recopied,
    Unreduced: reduced,
    LeafWrite: written_apart,
    Unused: of_the_whole,
    Unregistered: as_module_list,
}
BOTH = (Effect.REDUCE, Effect.UNCUT)  # the code does not show which of two such repairs is meant
IN_USE = "a backward() may go through what is cut"
TRAINS_OTHERWISE = (UNTRAINED, OTHERWISE, LESS)
ANEW = "compute anew, before each backward(), what it is to go through"  # where the edit that a rule names is refused


@dataclass(frozen=True)
class Attempt:
    """A candidate with what its trial came to."""

    candidate: Candidate
    verdict: Verdict


def chosen(evidence: Evidence, finding: Draft, is_left: IsLeft) -> Iterator[Finding]:
    """The finding with its best repair, or why there is none: as it is where nothing is searched, none where the flow of the code contradicts it.

    `is_left`: whether the evidence of a repaired program still shows the fault.
    """
    if isinstance(finding.shown_by, (SecondBackward, Conflict)):
        yield from (rated(evidence, each, finding.shown_by) for each in search(evidence, finding, finding.shown_by))
        return
    shown = finding.shown_by
    if shown is None:
        made = list(all_tried(evidence, kept(evidence, kept_nodes(finding)), None, is_left))
        held = sorted(held_by(made), key=lambda each: rank_kept(each.candidate, finding.span))
    else:
        made = list(all_tried(evidence, MENDING[type(shown)](evidence, shown), shown.site, is_left))
        held = list(held_by(made))
    if not held:
        yield unrepaired(finding, made)
        return
    best = held[0]
    if best.candidate.doubt:
        others = (each.candidate for each in held[1:] if best.candidate.effect is each.candidate.effect and each.candidate.effect in BOTH)
        yield replace(repaired(finding, best.candidate), another=next((each.fix for each in others), None))
    else:
        # that somebody goes backward through what is cut says nothing against the finding: the copy raises all the same
        unproven = replace(best.candidate, doubt=IN_USE)
        yield from list(borne_out(evidence, finding, best.candidate)) or [repaired(finding, unproven)]


def rated(evidence: Evidence, finding: Finding, shown: SecondBackward | Conflict) -> Finding:
    """The finding as a warning where its error rests on what the code does not show, whatever becomes of its repair."""
    if isinstance(shown, SecondBackward) and finding.severity is Severity.ERROR and premise_of(evidence, shown) is not None:
        return replace(finding, severity=Severity.WARNING)
    return finding


def search(evidence: Evidence, finding: Draft, shown: SecondBackward | Conflict) -> Iterator[Finding]:
    """The same for a backward pass that raises: what can be argued for is taken where it is safe, and else competes with the rest of the grammar."""
    given = [of_fix(finding.fix)] if finding.fix is not None else proposed(evidence, shown)
    refused = next((each.reason for each in given if isinstance(each, NoFix)), "")
    finding = replace(finding, unfixed=finding.unfixed or refused)
    argued = [each for each in given if isinstance(each, Candidate) and not repeats(evidence, each.operations)]
    own = argued[0] if argued else None
    witness = witness_of(shown)
    known: dict[object, Verdict] = {}
    if own is not None and finding.fix is None and not own.doubt and is_sound(evidence, own, witness, known):
        sure = [*borne_out(evidence, finding, own)]
        if all(each.fix is not None and each.fix.applicability is Applicability.SAFE for each in sure):
            yield from sure
            return
    made = list(attempts(evidence, witness, argued, known))
    best = best_of(evidence, finding, witness, made)
    if best is None and (own is None or is_decided(made)):
        yield unrepaired(finding, made)
    elif own is not None and (best is None or best.candidate is own):
        told = borne_out(evidence, finding, own) if finding.fix is None else (finding,)
        yield from (with_other(evidence, each, witness, best, made) for each in told)
    elif best is not None:
        yield with_other(evidence, repaired(finding, best.candidate), witness, best, made)


def is_sound(evidence: Evidence, own: Candidate, witness: Witness, known: dict[object, Verdict]) -> bool:
    """Whether the trial of a candidate, where one can be made, says nothing against it."""
    made = all_tried(evidence, [own], witness.event.site, known=known)
    return all(not each.verdict.refusal or each.verdict.refusal in UNDECIDED for each in made)


def borne_out(evidence: Evidence, finding: Draft, candidate: Candidate) -> Iterator[Finding]:
    """The finding with a candidate, safe as far as its proof goes; none where the flow contradicts it."""
    return proven(evidence, [replace(finding, fix=candidate.fix, unfixed="")])


def repaired(finding: Draft, candidate: Candidate) -> Finding:
    """The finding with a candidate; what is open about the fix of its rule says nothing of another one."""
    story = tuple(each for each in finding.story if not each.message.startswith(OPEN))
    return replace(finding, fix=candidate.fix, unfixed="", story=story)


def with_other(evidence: Evidence, finding: Finding, witness: Witness, best: Attempt | None, made: Iterable[Attempt]) -> Finding:
    """The finding with the best of the repairs that train otherwise than the chosen one, where its cause leaves open which is meant."""
    is_sure = finding.fix is None or finding.fix.applicability is Applicability.SAFE
    if best is None or is_sure or witness.cause not in LEFT_OPEN or not isinstance(finding, Draft):
        return finding
    effect = best.candidate.effect
    others = (
        each for each in made if not trains_alike(each.candidate.effect, effect) and each.verdict.trained != best.verdict.trained
    )
    other = best_of(evidence, finding, witness, others)
    return replace(finding, another=other.candidate.fix) if other is not None and other.candidate.doubt else finding


def best_of(evidence: Evidence, finding: Draft, witness: Witness, made: Iterable[Attempt]) -> Attempt | None:
    """The attempt that an expert would choose; one that may still raise only where there is no other."""
    held = sorted(held_by(made), key=lambda each: rank(evidence, witness, each.candidate, each.verdict, finding.span))
    sound = (each for each in held if not is_written_between(evidence, finding, each.candidate))
    return next(sound, held[0] if held else None)


def is_decided(made: Sequence[Attempt]) -> bool:
    """Whether the first attempt, that of what can be argued for, has come to something."""
    return bool(made) and made[0].verdict.refusal not in UNDECIDED


def unrepaired(finding: Draft, made: Sequence[Attempt]) -> Finding:
    """The finding without a fix, and why none of the attempts repairs the fault: what was argued for, or else the one which comes closest."""
    first = made[0] if made else None
    if first is not None and first.candidate.is_reasoned and is_decided(made):
        told = finding.without_fix(f'"{first.candidate.title}" would be no repair: {first.verdict.refusal}')
        return replace(told, by_hand=ANEW if first.verdict.refusal in TRAINS_OTHERWISE else "")
    untried = sum(each.verdict.refusal == UNTRIED for each in made)
    if untried:
        edits = "1 edit was" if untried == 1 else f"{untried} edits were"
        said = f"{edits} not tried, as the program takes too many steps"
        finding = replace(finding, unfixed="; ".join(filter(None, (finding.unfixed, said))))
    near = [each for each in made if each.verdict.refusal in TRAINS_OTHERWISE]
    if not near:
        return finding
    best = max(near, key=lambda each: REFUSALS.index(each.verdict.refusal))
    unfixed = f"{finding.unfixed}; the closest edit is to {best.candidate.title}, but {best.verdict.refusal}"
    return replace(finding, unfixed=unfixed, by_hand=ANEW)


def kept_nodes(finding: Draft) -> list[Node]:
    """What a place keeps, the youngest first, and what that was made of."""
    stored = sorted(finding.subject.nodes, key=lambda node: -node.order)
    return list(dict.fromkeys((*stored, *(parent for node in stored for parent in node.parents))))


def is_written_between(evidence: Evidence, finding: Draft, candidate: Candidate) -> bool:
    """Whether a graph is to be kept although code between the two backward passes writes, and it may be to what the graph has saved."""
    if candidate.effect is not Effect.RETAIN:
        return False
    opened = Joined(evidence).joined(replace(finding, fix=candidate.fix))
    return any(isinstance(each.site, ast.Call) and writes(each.site) for each in opened)


def attempts(
    evidence: Evidence, witness: Witness, argued: Iterable[Candidate] = (), known: dict[object, Verdict] | None = None
) -> Iterator[Attempt]:
    """All candidates for a backward pass that raises, tried; those that are `argued` for come first."""
    return all_tried(evidence, (*argued, *candidates(evidence, witness)), witness.event.site, known=known)


def all_tried(
    evidence: Evidence,
    every_one: Iterable[Candidate],
    site: ast.AST | None = None,
    is_left: IsLeft | None = None,
    known: dict[object, Verdict] | None = None,
) -> Iterator[Attempt]:
    """The candidates with what their trials come to, each edit once; of those beyond what may be tried, that there was none.

    `known`: what some came to already.
    """
    known = {} if known is None else known
    found: dict[object, Candidate] = {}
    for each in every_one:
        if not repeats(evidence, each.operations):
            found.setdefault(each.operations, each)
    most = most_tried(evidence)
    for number, each in enumerate(found.values()):
        if each.operations not in known:
            known[each.operations] = tried(evidence, each, site, is_left) if number < most else Verdict(UNTRIED)
        yield Attempt(each, known[each.operations])


def most_tried(evidence: Evidence) -> int:
    """How many candidates may be tried: none of a program that is too large for its budget, as the trial would end early, too."""
    steps = sum(each.steps for each in evidence.tape.interpreters)
    return 0 if evidence.tape.truncated else min(MOST_TRIED, TRIAL_STEPS // max(steps, 1))


def held_by(made: Iterable[Attempt]) -> Iterator[Attempt]:
    """Those that repair the fault."""
    return (each for each in made if not each.verdict.refusal)


def of_fix(given: Fix) -> Candidate:
    """The fix of a rule as a candidate."""
    retains = all(isinstance(each, AddArgument) for each in given.operations)
    effect = Effect.RETAIN if retains else Effect.CUT
    return Candidate(effect, given.title, given.operations, given.ground, given.doubt, is_reasoned=True)

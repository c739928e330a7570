"""Whether an edit repairs a fault: the program is analysed with the edit in place, and compared with what it was."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphfix.analysis.contributors import Facts
from graphfix.analysis.entries import EntryPoint
from graphfix.analysis.evidence import Evidence, working_walks
from graphfix.analysis.explore import Explorer, Tape
from graphfix.analysis.health import health_of
from graphfix.analysis.runs import Run, first_runs
from graphfix.autograd.backward import BackwardPass, Hit, Overwritten, Stale
from graphfix.autograd.graph import Leaf
from graphfix.autograd.iteration import is_further
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Fix, Ground, Operation
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.uses import Uses
from graphfix.rewrite import apply_fixes
from graphfix.source.document import Document
from graphfix.source.guard import parses
from graphfix.source.homes import file_of, placed

# why an edit is no repair, what comes closest to one last; what makes a run worse (`Health.worse_than`) is further off than any of these
UNWRITABLE = "the edit cannot be written there"
UNFINISHED = "the analysis budget ran out"
UNTRIED = "no trial of it was made, as the program takes too many steps"
APART = "its runs do not correspond to those of the program as it is"
KEPT = "the graph would still be kept"
RAISES = "a backward() would still raise"
MISSING = "a backward() would be missing"
UNTRAINED = "a parameter would not be trained any more"
OTHERWISE = "a backward() that works would train in another way"
LESS = "a backward() would not train with all that is computed for it"
REFUSALS = (UNWRITABLE, UNFINISHED, UNTRIED, APART, KEPT, RAISES, MISSING, UNTRAINED, OTHERWISE, LESS)
UNDECIDED = (UNWRITABLE, UNFINISHED, UNTRIED, APART)  # which say nothing against an edit
ANY = Candidate(Effect.CUT, "", (), Ground.FREED)  # an edit of which nothing is known
IsLeft = Callable[[Evidence], bool]
# the sum and what it is kept in, which a backward pass through the new part alone leaves out
FEWER = {Effect.PART: 2}
REORDERING = (Effect.MOVE, Effect.INSIDE)
APART_FROM_LEAVES = (Effect.UNRECORDED, Effect.COPY)  # the program ends at the write today
JOINING = (Effect.JOIN, Effect.REMOVE)  # has fewer backward passes afterwards, which bring what all of them brought


@dataclass(frozen=True)
class Verdict:
    """What a trial came to. `refusal`: why the edit is no repair, as the end of a sentence; empty where it is one.

    `trained`: how many uses of parameters the backward passes of the runs train.
    """

    refusal: str
    trained: int = 0


def texts_with(evidence: Evidence, operations: tuple[Operation, ...]) -> dict[Path, str] | None:
    """The texts of the files that the operations change; None where they cannot be made."""
    by_path: dict[str, list[Operation]] = {}
    for operation in operations:
        path = file_of(operation, evidence.program.main.path)
        by_path.setdefault(path, []).append(placed(operation, lambda span: replace(span, path="")))
    made: dict[Path, str] = {}
    for path, own in by_path.items():
        document = evidence.program.named(path if path != evidence.program.main.path else "")
        done = apply_fixes(document.text, [Fix(Applicability.SAFE, "", tuple(own))])
        if not done.applied or not parses(done.text):
            return None
        made[Path(path)] = done.text
    return made


def rerun(evidence: Evidence, texts: Mapping[Path, str], only: EntryPoint | None = None) -> Tape:
    """All runs of the program with these texts of its files; of `only` one entry as it usually goes."""
    tape = evidence.tape
    path = Path(tape.document.path)
    document = Document(str(path), texts.get(path, tape.document.text))
    others = {Path(os.path.realpath(each)): Document(str(each), text, each.stem) for each, text in texts.items() if each != path}
    explorer = Explorer(document, tape.roots, tape.conventions, {**tape.given, **others})
    if tape.is_brief:
        explorer.look_briefly()
    if only is not None:
        explorer.look_once([only])
    made = explorer.explore()
    tape.others.append(made)
    return made


def tried(evidence: Evidence, candidate: Candidate, site: ast.AST | None = None, is_left: IsLeft | None = None) -> Verdict:
    """Whether the program is rid of the fault with a candidate in place, and nothing else is worse; else as `judged`."""
    texts = texts_with(evidence, candidate.operations)
    if texts is None:
        return Verdict(UNWRITABLE)
    return judged(evidence, texts, site, is_left, candidate)


def judged(
    evidence: Evidence,
    texts: Mapping[Path, str],
    site: ast.AST | None,
    is_left: IsLeft | None = None,
    meant: Candidate = ANY,
) -> Verdict:
    """Whether the program is rid of the fault with these texts of its files, and nothing else is worse.

    `site`: the backward pass that raises. `is_left`: whether the evidence of the repaired program still shows the fault, where its
    backward passes do not show that. `meant`: what the texts are to do.
    """
    refused = refused_at_once(evidence, texts, site, meant)
    if refused is not None:
        return refused
    after = rerun(evidence, texts)
    try:
        verdict = compared(evidence.tape, after, site, meant)
        if not verdict.refusal and is_left is not None and is_left(Evidence(after, Facts(after), evidence.cuts)):
            return Verdict(KEPT)
        return verdict
    finally:
        after.let_go()


def refused_at_once(evidence: Evidence, texts: Mapping[Path, str], site: ast.AST | None, meant: Candidate) -> Verdict | None:
    """What the usual run of the entry that shows the fault says against a repair; None where it says nothing.

    Most repairs that are tried fail there, and all runs of all entries say the same at many times the cost.
    """
    shows = (run for run in evidence.tape.runs if site is None or any(walk.site is site for walk in run.recording.walks))
    witness = next(shows, None)
    if witness is None or len(evidence.tape.runs) == 1:
        return None
    usual = first_runs(evidence.tape.runs)[witness.entry]
    after = rerun(evidence, texts, witness.entry)
    try:
        if after.truncated or len(after.runs) != 1:
            return None
        refusal = contrasted(usual, after.runs[0], site, meant)[0]
        return Verdict(refusal) if refusal else None
    finally:
        after.let_go()


def compared(before: Tape, after: Tape, site: ast.AST | None, meant: Candidate) -> Verdict:
    """What the runs of a repaired program say of the repair; else as `judged`."""
    if after.truncated:
        return Verdict(UNFINISHED)
    worse = health_of(after).worse_than(health_of(before))
    if worse:
        return Verdict(worse)
    pairs = paired(before, after)
    if not pairs:
        return Verdict(APART)
    if any(map(fails, walks_besides(after, pairs))) and not any(map(fails, walks_besides(before, pairs, site))):
        return Verdict(RAISES)
    trained = 0
    for one, two in pairs:
        refusal, more = contrasted(one, two, site, meant)
        if refusal:
            return Verdict(refusal)
        trained += more
    return Verdict("", trained)


def contrasted(one: Run, two: Run, site: ast.AST | None, meant: Candidate) -> tuple[str, int]:
    """What keeps the run `two` from being `one`, repaired, empty where nothing does; and how many uses of parameters it trains."""
    only_trained = meant.ground is Ground.UNTRAINED
    old, new = Uses(one, only_trained, meant.constant_in), Uses(two, only_trained)
    refusal = difference(old, new, site, meant.effect)
    if refusal:
        return refusal, 0
    needed = old.parameters
    if meant.effect is Effect.UNCUT:  # what was told to require grad in the place of a graph is no parameter
        needed = {each for each in needed if not isinstance(each, Leaf) or each.severed is None}
    if len(new.parameters) < len(needed) and meant.effect is not Effect.UNRECORDED:
        return UNTRAINED, 0
    return "", (old if meant.effect in JOINING else new).trained()


def walks_besides(tape: Tape, pairs: Sequence[tuple[Run, Run]], site: ast.AST | None = None) -> Iterator[BackwardPass]:
    """The backward passes, but for those at `site`, of runs that none of another version correspond to."""
    known = {run for pair in pairs for run in pair}
    return (event for run in tape.runs if run not in known for event in run.recording.walks if event.site is not site)


def paired(before: Tape, after: Tape) -> list[tuple[Run, Run]]:
    """The runs of the two that correspond to one another: each entry's first, where there is another number of them."""
    if [run.entry for run in before.runs] == [run.entry for run in after.runs]:
        return list(zip(before.runs, after.runs))
    one, two = first_runs(before.runs), first_runs(after.runs)
    return [(run, two[entry]) for entry, run in one.items() if entry in two]


def difference(before: Uses, after: Uses, site: ast.AST | None, effect: Effect) -> str:
    """What keeps the one from being the other run, repaired; empty where nothing does."""
    old, new = before.run.recording.walks, after.run.recording.walks
    if effect in JOINING:
        return RAISES if any(map(fails, new)) else LESS if len(after.all) < len(before.all) else ""
    if len(new) < sum(not is_further(walk.context) for walk in old):
        return MISSING
    working = {walk for walk in old[: len(working_walks(before.run))] if not (effect is Effect.UNCUT and walk.leads_to_lost)}
    fewer = FEWER.get(effect, 0)
    for one, two in corresponding(old, new, by_text=effect in REORDERING):
        if fails(two) and (one is None or one.site is site or not fails(one)):
            return RAISES
        if one is None or one.site is site and effect in (Effect.REDUCE, Effect.WHOLE) or effect in APART_FROM_LEAVES:
            continue  # none of its passes works, or comes behind the write
        now = len(after.of(two))
        if one in working and not fails(one) and not 0 <= len(before.of(one)) - now <= fewer:
            return OTHERWISE
        if now < len(before.of(one, is_fresh=True)) - fewer:
            return LESS
    return ""


def corresponding(
    old: Sequence[BackwardPass], new: Sequence[BackwardPass], *, by_text: bool
) -> Iterator[tuple[BackwardPass | None, BackwardPass]]:
    """Each backward pass of a repaired run with that of the run before: in the order of the runs, or of those that are written alike."""

    def key(event: BackwardPass) -> str:
        return ast.unparse(event.site) if by_text else ""

    known: dict[str, list[BackwardPass]] = {}
    for event in old:
        known.setdefault(key(event), []).append(event)
    for event in new:
        same = known.get(key(event), [])
        yield same.pop(0) if same else None, event


def fails(event: BackwardPass) -> bool:
    """Whether a backward pass raises."""
    met: tuple[Hit | Stale | Overwritten, ...] = (*event.hits, *event.stale, *event.overwritten)
    return any(each.certain for each in met)

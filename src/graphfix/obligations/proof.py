"""The last word on a fix: safe only where each of its obligations is discharged."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

from graphfix.analysis.evaluations import UNKNOWN_CALLERS
from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import GivenUp, Sink
from graphfix.interpreter.shapes import SCALAR, shape_of
from graphfix.model import OPEN, OUTSIDE, Append, Applicability, Decorate, Finding, Fix, Label, Wrap
from graphfix.models.words import WALKS
from graphfix.obligations.identity_sensitivity import is_identity
from graphfix.obligations.inquiry import NO_TENSOR, Open
from graphfix.obligations.missing_rows import missing_rows
from graphfix.obligations.obligations import MOST_PLACES, Proof
from graphfix.obligations.repeats import repeats
from graphfix.obligations.stays import Stays
from graphfix.obligations.unrecorded import ROUNDS
from graphfix.source.homes import file_of
from graphfix.source.quote import short

MOST_TOLD = 3  # places of one fix
OUT_OF_SIGHT = "outside the analysed code"
FURTHER_IN = "run only the code that evaluates under `torch.no_grad()`"
TWICE = "the edit would run a part of the code twice"
# what surely is no tensor
KINDS = {
    ast.Constant: "which is not a tensor",
    ast.Tuple: "a tuple: which of its items it is cannot be told",
    (ast.List, ast.ListComp): "a list: which of its items it is cannot be told",
    (ast.Dict, ast.DictComp): "a dict: which of its values it is cannot be told",
}


def proven(evidence: Evidence, findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings as far as the flow of the file bears them out; a fix that it does not bear out is unsafe, and says why.

    A finding that the flow contradicts is none: what it says nobody does is done.
    """
    for finding in findings:
        if finding.fix is not None and repeats(evidence, finding.fix.operations):
            finding = finding.without_fix(TWICE)
        proof = proof_for(evidence, finding)
        if finding.fix is None or finding.fix.applicability is Applicability.DISPLAY:
            yield finding
            continue
        opened = list(dict.fromkeys(proof.open_of(finding)))
        if any(each.contradicted for each in opened):
            continue
        broken = next((each for each in opened if each.breaks), None)
        if broken is not None:
            yield unrepaired(proof.evidence, finding, broken)
            continue
        if opened:
            finding = doubted(proof.evidence, finding, opened)
        elif finding.fix.doubt == UNKNOWN_CALLERS and stays_inside(proof, finding.fix):
            finding = dataclasses.replace(finding, fix=finding.fix.cleared())
        yield dataclasses.replace(finding, fix=as_tensors(proof, finding.fix))


def stays_inside(proof: Proof, fix: Fix) -> bool:
    """Whether callers that are not in sight get nothing of what the fix stops to record."""
    wraps = [each for each in fix.operations if isinstance(each, (Wrap, Decorate))]
    return bool(wraps) and all(map(Stays(proof.evidence).stays, wraps))


def proof_for(evidence: Evidence, finding: Finding) -> Proof:
    """Asks about the files that the fix of a finding changes, which further programs may use."""
    fix = finding.fix
    spans = (file_of(operation, "") for operation in (fix.operations if fix is not None else ()))
    homes = tuple(sorted({path or evidence.program.main.path for path in spans}))
    return proof_of(evidence.of_homes(homes or (evidence.program.main.path,)))


@asked_once
def proof_of(evidence: Evidence) -> Proof:
    return Proof(evidence)


def doubted(evidence: Evidence, finding: Finding, opened: list[Open]) -> Finding:
    """The finding with a fix that its user has to decide on, and the places that could not be excluded."""
    assert finding.fix is not None
    known = {(each.path, each.span) for each in finding.story if each.message.startswith(OPEN)}
    told: dict[str, Label] = {}
    for each in opened:  # each reason once, and of one place one reason
        place = label(evidence, finding, each)
        if (place.path, place.span) not in known:
            told.setdefault(ROUNDS if each.reason == ROUNDS else place.message, place)
    new = list(told.values())
    repair = finding.fix.doubted(reason_of(opened[0]))
    if repair.doubt.startswith(OUTSIDE):  # the places say which code that is
        repair = dataclasses.replace(repair, doubt=reason_of(opened[0]))
    repair = dataclasses.replace(repair, missing_rows=missing_rows(evidence.flow, opened)[:MOST_TOLD])
    return dataclasses.replace(finding, fix=repair, story=(*finding.story, *new[:MOST_TOLD]))


def unrepaired(evidence: Evidence, finding: Finding, broken: Open) -> Finding:
    """The finding without a fix that would make the code raise, and the place that would."""
    place = dataclasses.replace(label(evidence, finding, broken), message="this would raise where nothing is recorded")
    without = finding.without_fix(f"it may run `{subject(broken.site)}`, which raises under no_grad")
    return dataclasses.replace(without, story=(*without.story, place), by_hand=FURTHER_IN)


def label(evidence: Evidence, finding: Finding, each: Open) -> Label:
    message = f"{OPEN}{reason_of(each)}"
    for document in evidence.flow.code.documents.values():
        if each.site in document.parents:
            return Label(document.path, document.span(each.site), message)
    return Label(finding.path, finding.span, message)


def reason_of(each: Open) -> str:
    """The sentence that says why a place leaves an obligation open: what does it, and what it does.

    What a function returns goes to its callers: it is they who are unknown.
    """
    if isinstance(each.site, GivenUp):
        return "its value reaches more places than the analysis follows"
    if isinstance(each.site, ast.Pass):  # stands for a place that is not code, such as an attribute of any object
        return "code outside the analysed code may read it, and call backward() on it or keep it"
    if isinstance(each.site, ast.Module):
        return "other files may import it, and call backward() on it or keep it"
    what = f"`{subject(each.site)}`"
    if each.reason.startswith(Sink.ESCAPES.value) and isinstance(each.site, ast.Call):
        return f"{what} {Sink.ESCAPES.value}"
    if each.reason.startswith(Sink.ESCAPES.value):
        if isinstance(each.site, FUNCTIONS):
            return f"what {what} returns goes to callers {OUT_OF_SIGHT}, which may call backward() on it or keep it"
        return f"{what} comes from code {OUT_OF_SIGHT}, which may call backward() on what is put into it"
    if each.reason == Sink.ASKED.value:
        return f"{what} compares it by identity" if is_identity(each.site) else f"{what} depends on whether it has a graph"
    if each.reason.startswith(Sink.WALKED.value) and isinstance(each.site, ast.Call) and name_of(each.site.func) in WALKS:
        return f"{what} may go through this graph{each.reason.removeprefix(Sink.WALKED.value)}"
    kind = next((word for shape, word in KINDS.items() if isinstance(each.site, shape)), "")
    if each.reason == NO_TENSOR and kind:
        return f"the value may come from {what}, {kind}"
    return f"{what} {each.reason}"


def subject(site: ast.AST) -> str:
    """The name of a callee or definition, or else the first line of the code, shortened."""
    if isinstance(site, (*FUNCTIONS, ast.ClassDef)):
        return getattr(site, "name", "lambda")
    node = site.func if isinstance(site, ast.Call) else site
    return short(ast.unparse(node).splitlines()[0], 40)


def as_tensors(proof: Proof, fix: Fix) -> Fix:
    """The fix with `.detach()` for `.item()` where a reader may need a tensor, not a number."""
    cuts = [operation for operation in fix.operations if isinstance(operation, Append) and operation.text == ".item()"]
    told = proof.evidence.tape.conventions.accumulate == "item"
    expressions = [proof.expression(operation.span) for operation in cuts]
    if proof.is_in_sight and len(cuts) <= MOST_PLACES and not any(
        widens(proof, each) or any(True for _ in proof.read_elsewhere(each)) or next(proof.readers.needs_tensor(each, told), None)
        for each in expressions
        if each is not None
    ):
        return fix
    changed = tuple(
        dataclasses.replace(each, text=".detach()") if isinstance(each, Append) and each.text == ".item()" else each
        for each in fix.operations
    )
    return dataclasses.replace(fix, operations=changed, title=fix.title.replace(".item()", ".detach()"))


def widens(proof: Proof, expression: ast.expr) -> bool:
    """Whether the expression may give a dimension to a tensor that it is added to: a number has none (`shape (1,)` against `()`)."""
    uses = proof.evidence.facts.uses.get(expression, ())
    if uses and all(shape_of(use.value) == SCALAR for use in uses):
        return False
    reach = proof.graph.reach([expression], numbers=True)
    return any(place in proof.readers.tensors for place, _ in reach.places)

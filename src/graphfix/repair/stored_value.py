"""The repair for values that are stored with their graph: detach them where they are stored."""

from __future__ import annotations

import ast
import dataclasses

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.growing_places import GrowingPlace
from graphfix.analysis.mended import ends_with_call, kept
from graphfix.analysis.second_backward import SecondBackward
from graphfix.analysis.subject import Tell
from graphfix.autograd.symptoms import SECOND_WALK
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import Instance, Mapping, Sequence
from graphfix.model import OUTSIDE, Finding, Fix, Ground, Label, NoFix, Replace, in_time
from graphfix.repair.cut import is_object, plan
from graphfix.repair.fixes import fix, unless
from graphfix.repair.shapes import detached
from graphfix.source.quote import short

COMPUTE_ANEW = "compute it in each iteration, or empty the container after each step"


def piled_up(evidence: Evidence, pile: GrowingPlace, tell: Tell) -> Finding | None:
    """The finding for a place that keeps graphs; None where it is another file that puts them there."""
    local = pile.is_of_script or not any(held_by_instance(evidence, store) for store in pile.stores)
    cut = plan(evidence, pile.expressions, local)
    own = [store for store in pile.stores if evidence.program.holds(store.target)]
    if cut is not None:
        blamed = evidence.program.statement_of(cut.texts[0][0])
    elif own:
        blamed = evidence.program.statement_of(own[0].target)
    else:
        return None
    what = short(evidence.program.name_at(pile.stores[0].target, blamed))
    ground = Ground.RAISES if pile.raises else Ground.UNUSED
    doubt = unless(pile.freed or not pile.escaped, f"{OUTSIDE}may use what `{what}` keeps")
    repair = (
        fix(cut.title, *cut.operations(evidence), ground=ground, doubt=doubt)
        if cut is not None
        else detached_copy(evidence, pile, ground)
    )
    one = "this keeps a tensor with its graph beyond its iteration"
    what_it_does = one if pile.keeps_one else "this stores a tensor with its graph in a container that outlives the iteration"
    story = [evidence.label(blamed, what_it_does)]
    if own and evidence.program.statement_of(own[0].target) is not blamed:
        story.append(evidence.label(own[0].target, "it is kept here"))
    for walk in pile.second[:1]:
        story = around_second_walk(evidence, walk, story)
    message = f"`{what}` keeps the graph of {'the iteration that it is from' if pile.keeps_one else 'every value put into it'}"
    finding = tell(
        evidence,
        message,
        evidence.program.span(blamed),
        in_time(*story) if pile.second else story,
        repair,
        shown=SECOND_WALK if pile.raises else None,
        subject=dataclasses.replace(
            kept(evidence, pile, pile.stores),
            explains=frozenset(each for walk in pile.second for each in walk.meetings),
            is_fleeting=ends_with_call(evidence, pile.stores),
        ),
        shown_by=pile.second[0] if pile.second else None,
    )
    return dataclasses.replace(finding, by_hand=COMPUTE_ANEW) if pile.needed else finding


def detached_copy(evidence: Evidence, pile: GrowingPlace, ground: Ground) -> Fix | NoFix:
    """Store a copy of a list, tuple or dict, with the items detached, where it comes by name."""
    stores = [store for store in pile.stores if store.nodes and not pile.needed]
    sites = dict.fromkeys(store.value_site for store in stores)
    site = next(iter(sites), None)
    if len(sites) == 1 and isinstance(site, (ast.Name, ast.Attribute)) and evidence.program.holds(site):
        text = ast.unparse(site)
        made = {detached(store.value, text) if isinstance(store.value, (Mapping, Sequence)) else None for store in stores}
        copy = made.pop() if len(made) == 1 else None
        if copy is not None:
            doubt = f"what changes in `{text}` later is not seen in a copy of it"
            return fix(f"store `{copy}`", Replace(evidence.program.span(site), copy), ground=ground, doubt=doubt)
    return NoFix(why_not_cut(evidence, pile))


def around_second_walk(evidence: Evidence, walk: SecondBackward, story: list[Label]) -> list[Label]:
    """The story of a store with what frees the graph, before or after it is stored, and with what takes it out again."""
    frees, again = walk.freed_by.site, walk.walk.site
    freed = [evidence.label(frees, "this backward() frees the graph")] if evidence.program.holds(frees) else []
    first = min(store.order for store in walk.stores if store.holder is not None)
    told = [*freed, *story] if first > min(hit.freed_by.order for _, _, hit in walk.hits) else [*story, *freed]
    if evidence.program.holds(again):
        told.append(evidence.label(again, "in a later iteration backward() goes through the freed graph and raises"))
    return told


def why_not_cut(evidence: Evidence, pile: GrowingPlace) -> str:
    if pile.needed:
        return "the iteration that stores it needs its graph, to train what has computed it"
    if any(is_object(use.value) for each in pile.expressions for use in evidence.facts.uses.get(each, ())):
        return "the stored value is an object that holds tensors: each of them has to be detached"
    return "the stored value is not computed by one expression"


def name_of(pile: GrowingPlace) -> str:
    """The container, as its owner writes it."""
    return short(ast.unparse(pile.stores[0].target))


def held_by_instance(evidence: Evidence, store: Store) -> bool:
    """Whether the container is an attribute, which code that is not in sight may read."""
    return isinstance(store.target, ast.Attribute) or isinstance(store.holder, Instance)

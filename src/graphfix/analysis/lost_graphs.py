"""Backward passes that find no graph, because it was cut on the way from the parameters to the loss, or never began."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import history
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.recording import Bare
from graphfix.lazy_dataclass import dataclass
from graphfix.models.registered import reached

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Way = tuple[ast.AST, ...]


@dataclass(frozen=True, eq=False)
class LostGraph:
    """A backward pass that raises in each run, as its loss has no graph, and where that was cut: first, and in any run."""

    bare: Bare
    severed: Severed
    every: tuple[Severed, ...]


def lost_graphs(evidence: Evidence) -> Iterator[LostGraph]:
    """The calls of `backward()` that find no graph in any run that comes to them, each once, where the cut is in sight.

    Of parameters that are told to need no gradient, in any run that comes to that: an option may decide. Runs that were cut short by the
    budget do not show what the others would have found.
    """
    if evidence.tape.truncated:
        return
    found: dict[Way, list[Bare]] = {}
    for run in evidence.tape.runs:
        for bare in (*run.recording.bare, *told_to_train(run)):
            found.setdefault(way(bare, is_told=bare.flag is not None), []).append(bare if is_sure(run, bare.severed) else replace(bare, severed=None))
    told: set[tuple[ast.AST, ast.AST]] = set()
    for calls, every in found.items():
        site, is_told = every[0].site, every[0].flag is not None
        cuts = {bare.severed.site: bare.severed for bare in every if bare.severed is not None}
        if not evidence.program.holds(site) or not all(map(evidence.program.holds, cuts)) or any(bare.severed is None for bare in every):
            continue
        if any(cut.how is How.FROZEN for cut in cuts.values()) and is_given(evidence, every[0]):
            continue
        runs = concerned(evidence, cuts.values())
        if not any(way(walk, is_told=is_told) == calls and not walk.leads_to_lost for run in runs for walk in run.recording.walks if walk.site is site):
            first = next(iter(cuts.values()))
            if (site, first.site) not in told:
                told.add((site, first.site))
                yield LostGraph(every[0], first, tuple(sorted(cuts.values(), key=lambda cut: evidence.program.span(cut.site).start)))


def told_to_train(run: Run) -> Iterator[Bare]:
    """The backward passes that come to nothing but tensors which were told to require grad, made of what is trained, and trained by nobody."""
    walks = [walk for walk in run.recording.walks if walk.leads_to_lost]
    if not walks or run.reads_gradients(clipping=False):
        return
    trained = {leaf for update in run.recording.updates if update.steps for leaf in update.leaves}
    for walk in walks:
        (leaf, first), *rest = walk.told_to_require
        others = tuple(cut for _, cut in rest)
        nodes = tuple(node for cut in (first, *others) for node in cut.nodes)
        made_of = {leaf for node in history(list(nodes)) for leaf in node.leaves}
        if trained & made_of and trained.isdisjoint(walk.leaves):
            yield Bare(walk.site, walk.trace, replace(first, nodes=nodes), walk.receiver, leaf.site, others)


def way(walk: Bare | BackwardPass, *, is_told: bool) -> Way:
    """The call of a backward pass, and those that lead to it where none raises: the program may ask a loss for its graph before it does."""
    return walk.site, *(statement for _, statement in walk.trace if is_told)


def switched_off_at(evidence: Evidence, cut: Severed) -> ast.AST | None:
    """What had switched recording off for a cut: the item of a `with` around it or around a call that leads to it, or a decorator."""
    switches = {each for run in evidence.tape.runs for each in run.recording.switches}
    for _, statement in reversed(cut.trace) if cut.how is How.UNRECORDED else ():
        part: ast.AST | None = statement if evidence.program.holds(statement) else None
        while part is not None:
            if isinstance(part, (ast.With, ast.AsyncWith)):
                item = next((each.context_expr for each in part.items if each.context_expr in switches), None)
                if item is not None:
                    return item
            if isinstance(part, FUNCTIONS):
                if part in switches and part.decorator_list:
                    return part.decorator_list[-1]
                break
            part = evidence.program.parent(part)
    return None


def is_sure(run: Run, cut: Severed | None) -> bool:
    """Whether nothing may have told a frozen parameter again that it needs a gradient: code out of sight that has it, or a value that is not known."""
    if cut is None or cut.leaf is None:
        return True
    handed = (leaf for each in run.recording.handed for leaf in reached(each.values))
    return not run.recording.thaws and cut.leaf not in handed


def is_given(evidence: Evidence, bare: Bare) -> bool:
    """Whether callers out of sight may give a part of the graph: a loss of frozen layers is one of what they are given."""
    root = bare.receiver if bare.receiver is not None else next(iter(bare.site.args), bare.site)
    return bool(evidence.flow.given_below(root))


def concerned(evidence: Evidence, cuts: Iterable[Severed]) -> list[Run]:
    """The runs that may not go backward if the graph is lost by these cuts."""
    if any(cut.how is not How.FROZEN for cut in cuts):
        return evidence.tape.runs
    places = {freezing(evidence, cut.site) for cut in cuts}
    found = [run for run in evidence.tape.runs if not run.recording.is_without(places)]
    lost = [run for run in evidence.tape.runs if run.recording.bare]
    return found if all(run in found for run in lost) else evidence.tape.runs


def freezing(evidence: Evidence, site: ast.AST) -> ast.AST:
    """What a run executes that comes to a place where parameters are frozen: of a loop over parameters, of which it may freeze some, the loop."""
    loop = evidence.program.enclosing(site, (ast.For, ast.FunctionDef))
    return loop if isinstance(loop, ast.For) else evidence.program.statement_of(site)

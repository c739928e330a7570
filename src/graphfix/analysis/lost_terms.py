"""Terms of a loss that have lost their graph: the loss has one, its backward pass raises nothing, and nothing is trained by the term."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.severed import How, Severed
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree


@dataclass(frozen=True, eq=False)
class LostTerm:
    """The sum in which a term without a graph is added, the backward pass from it, and where the term has lost its graph."""

    sum: ast.AST
    walk: BackwardPass
    severed: Severed


def lost_terms(evidence: Evidence) -> Iterator[LostTerm]:
    """Those whose graph is lost in every run, each sum once: what is cut in the sum itself is cut on purpose.

    So is what is put into a tensor of its own that is told to require grad, beside others: `torch.tensor(losses, requires_grad=True)`.
    """
    if evidence.tape.truncated:
        return
    found: dict[ast.AST, LostTerm] = {}
    whole: set[ast.AST] = set()  # sums of which all terms have a graph in some run
    for run in evidence.tape.runs:
        partial = run.recording.partial
        trained = {leaf for update in run.recording.updates if update.steps for leaf in update.leaves}
        for walk in run.recording.walks:
            for cut in made_anew(run, walk, trained):
                if evidence.program.holds(cut.site):
                    found.setdefault(cut.site, LostTerm(cut.site, walk, cut))
            for node in sums_of(walk):
                cut = partial.get(node)
                if cut is None:
                    whole.add(node.site)
                elif is_told(evidence, node, cut, trained):
                    found.setdefault(node.site, LostTerm(node.site, walk, cut))
    yield from (term for site, term in found.items() if site not in whole)


def made_anew(run: Run, walk: BackwardPass, trained: set[Leaf]) -> Iterator[Severed]:
    """The tensors among what a backward pass comes to that were made of numbers of what is trained, and that nobody trains or asks for."""
    if not walk.told_to_require or walk.leads_to_lost or walk.targets is not None or run.reads_gradients(clipping=False):
        return
    asked = {leaf for other in run.recording.walks if other.targets is not None for leaf in other.targets[1]}
    for leaf, cut in walk.told_to_require:
        if leaf not in trained | asked and cut.how is How.COPIED and cut.site is leaf.site and not leaf.is_parameter:
            if trained & {below for node in history(list(cut.nodes)) for below in node.leaves}:
                yield cut


def is_told(evidence: Evidence, node: Node, cut: Severed, trained: set[Leaf]) -> bool:
    """Whether a term was computed from what is trained, and lost its graph by a statement of its own."""
    program = evidence.program
    if cut.how in (How.FROZEN, How.SWITCHED_OFF) or not program.holds(node.site) or not program.holds(cut.site):
        return False
    below = {*cut.leaves, *(leaf for each in history(list(cut.nodes)) for leaf in each.leaves)}
    return bool(below & trained) and cut.site not in set(subtree(program.statement_of(node.site)))


def sums_of(walk: BackwardPass) -> Iterator[Node]:
    """The sums that a loss is made of, the last first."""
    pending, seen = [root for root in walk.roots], set()
    while pending:
        node = pending.pop()
        if node not in seen and isinstance(node.site, (ast.BinOp, ast.AugAssign)) and isinstance(node.site.op, ast.Add):
            seen.add(node)
            yield node
            pending.extend(node.parents)

"""Reads of the `.grad` of tensors that are no leaves: torch keeps none there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.runs import Run
from graphfix.autograd.backward import BackwardPass
from graphfix.interpreter.recording import GradientRead
from graphfix.lazy_dataclass import dataclass
from graphfix.source.spelling import word

# https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html: these give the tensor itself where it is as it is to be
CONVERTS = frozenset("to cuda cpu xpu type type_as float double half bfloat16 contiguous".split())


@dataclass(frozen=True, eq=False)
class UnkeptGradient:
    """A read of the gradient that `walk` brought to a tensor, which did not keep it."""

    read: GradientRead
    walk: BackwardPass

    @property
    def may_be_leaf(self) -> bool:
        """Whether the tensor is a leaf where there was nothing to move or to convert."""
        node = self.read.node
        return node is not None and not node.parents and isinstance(node.site, ast.Call) and word(node.site.func) in CONVERTS


@asked_once
def unkept_gradients(evidence: Evidence) -> list[UnkeptGradient]:
    """Each place that reads such a gradient in every run that comes to it, with the first run's read.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html: only leaves that require grad have a `.grad`, and others
    that were told to retain theirs. A program that sets gradients itself knows where it has put them.
    """
    if evidence.tape.truncated or any(run.recording.sets_gradients for run in evidence.tape.runs):
        return []
    found: dict[ast.AST, UnkeptGradient] = {}
    kept: set[ast.AST] = set()
    for run in evidence.tape.runs:
        for read in run.recording.gradient_reads:
            walk = walk_to(run, read)
            if read.node is None or read.node in run.recording.retained:
                kept.add(read.site)
            elif walk is not None and evidence.facts.is_sure(read.node):
                found.setdefault(read.site, UnkeptGradient(read, walk))
    told: dict[tuple[ast.AST | None, str], UnkeptGradient] = {}  # a tensor that is read at several places once
    for site, each in found.items():
        if site not in kept and evidence.program.holds(site):
            told.setdefault((each.read.node and each.read.node.site, ast.unparse(site)), each)
    return list(told.values())


def walk_to(run: Run, read: GradientRead) -> BackwardPass | None:
    """The last `backward()` before a read that has come to the tensor."""
    walks: Iterator[BackwardPass] = (walk for walk in reversed(run.recording.walks) if walk.order < read.order and walk.targets is None)
    return next((walk for walk in walks if read.node in walk.below), None)

"""What the proofs of all kinds of fixes have in common: the file that is asked, and an answer that stays open."""

from __future__ import annotations

import ast
from functools import cached_property

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Span

NO_TENSOR = "may be something other than a tensor"


@dataclass(frozen=True)
class Open:
    """An obligation that is not discharged: the place that could not be excluded, and why it matters.

    `contradicted`: the place undoes the claim of the finding itself. `breaks`: with the fix the place would raise.
    """

    site: ast.AST
    reason: str
    contradicted: bool = False
    breaks: bool = False


@dataclass(frozen=True)
class Inquiry:
    """Asks the runs and the flow of one file."""

    evidence: Evidence

    @property
    def flow(self) -> Flow:
        return self.evidence.flow

    @property
    def graph(self) -> FlowGraph:
        return self.evidence.flow.graph

    @cached_property
    def walked(self) -> set[ast.AST]:
        """Where runs have walked."""
        return {walk.site for run in self.evidence.tape.runs for walk in run.recording.walks}

    def at(self, node: ast.AST, span: Span) -> bool:
        """Whether the node lies exactly at `span`."""
        return self.evidence.program.span(node) == span

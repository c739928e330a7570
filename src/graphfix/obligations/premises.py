"""What an error rests on besides its run: loops that have an iteration, contexts that let record, parameters that need gradients.

A run passes each loop, records in a context of which nothing is known, and takes parameters to be trained. Where all that a backward
pass finds freed rests on such a premise, a program in which it does not hold may well work.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.second_backward import SecondBackward
from graphfix.autograd.backward import Hit
from graphfix.autograd.graph import Node, history
from graphfix.autograd.iteration import CallStack
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.obligations.counts import Counts
from graphfix.obligations.inquiry import Inquiry, Open

# that of which the mode of recording is not known at once: https://docs.pytorch.org/docs/stable/autograd.html#locally-disabling-gradient-computation
SWITCHES = frozenset(("no_grad", "inference_mode", "set_grad_enabled"))
RECORDING = "enable_grad"
WITHS = (ast.With, ast.AsyncWith)


@asked_once
def premise_of(evidence: Evidence, shown: SecondBackward) -> Open | None:
    """The premise on which an error rests; None where a part of the graph that is met freed surely is recorded, and saves something."""
    return Premises(evidence).of(shown)


class Premises(Inquiry):
    """Asks what the freed graph of a second backward pass rests on."""

    def of(self, shown: SecondBackward) -> Open | None:
        """The premise of the graph that is met freed."""
        first: Open | None = None
        for _, event, hit in shown.hits:
            loops = {entry.loop for each in (event, hit.freed_by) for entry, _ in each.context}
            for node in self.freed_below(hit):
                found = self.doubt(node, hit, loops)
                if found is None:
                    return None
                first = first or found
        return first

    def freed_below(self, hit: Hit) -> Iterator[Node]:
        """The nodes that hold nothing any more of what is met."""
        yield from (node for node in history([hit.node]) if node.saves and node.freed_by is hit.freed_by)

    def doubt(self, node: Node, hit: Hit, loops: set[ast.AST | None]) -> Open | None:
        """The premise on which the recording of one node rests: the outermost loop that may have no iteration, or an unknown context."""
        for entry, _ in node.context:
            if isinstance(entry.loop, (ast.For, ast.AsyncFor)) and entry.loop not in loops:
                place = self.counts.may_be_none(entry.loop.iter)
                if place is not None:
                    return Open(place, "may be zero, and then nothing raises here")
        around = self.withs_around(hit.freed_by.trace)
        for context in self.withs_around(node.trace):
            if context not in around and self.may_switch_off(context):
                return Open(context, "may turn off the recording of this graph")
        return self.frozen(node)

    def frozen(self, node: Node) -> Open | None:
        """What may freeze all parameters that a node leads to: something unknown is told to need no gradient, and may be a part of them."""
        leaves = {leaf.site for each in history([node]) for leaf in each.leaves} if self.freezes else set()
        for site, receiver in self.freezes:
            if leaves and all(leaf is not None and receiver in self.reached_from(leaf) for leaf in leaves):
                return Open(site, "may set requires_grad=False on a parameter that is used here")
        return None

    @cached_property
    def freezes(self) -> list[tuple[ast.AST, ast.AST]]:
        """Where runs have told something unknown that it needs no gradient, each with what is told so."""
        sites = dict.fromkeys(site for run in self.evidence.tape.runs for site in run.recording.freezes)
        functions = ((site, site.func if isinstance(site, ast.Call) else site) for site in sites)
        return [(site, function.value) for site, function in functions if isinstance(function, ast.Attribute)]

    def reached_from(self, layer: ast.AST) -> set[object]:
        """The places to which a layer may get, by itself or in another module."""
        return {place for place, _ in self.graph.reach([layer], made=False).places} | set(self.graph.spread([layer]))

    @cached_property
    def counts(self) -> Counts:
        return Counts(self.evidence)

    def withs_around(self, trace: CallStack) -> list[ast.expr]:
        """The contexts in which the statements of a call stack stand, in their functions, from the innermost to one that surely records."""
        found: list[ast.expr] = []
        for _, statement in reversed(trace):
            above: ast.AST | None = statement
            while above is not None and not isinstance(above, FUNCTIONS):
                for item in reversed(above.items) if isinstance(above, WITHS) else ():
                    if self.flow.code.calls.get(item.context_expr, "").rpartition(".")[2] == RECORDING:
                        return found
                    found.append(item.context_expr)
                above = self.evidence.program.parent(above) if self.evidence.program.holds(above) else None
        return found

    def may_switch_off(self, context: ast.expr) -> bool:
        """Whether a context, in which a run has recorded, may be one in which nothing is recorded, or is not known."""
        if isinstance(context, ast.Call):
            return self.is_switch(context)
        sources = self.graph.sources(context)
        return not all(isinstance(each, ast.Call) and not self.is_switch(each) for each in sources)

    def is_switch(self, made: ast.Call) -> bool:
        """Whether a call may make such a context."""
        dotted = self.flow.code.calls.get(made, "")
        if dotted:
            return self.is_switch_of_library(dotted)
        if made in self.flow.calls.targets and made not in self.flow.calls.opaque:
            return False  # code in sight, which runs have entered
        return any(not self.is_named(each) for each in self.graph.sources(made.func))

    def is_named(self, function: object) -> bool:
        """Whether a function is one in sight, or one of a library that is known to switch nothing."""
        if isinstance(function, (ast.ClassDef, *FUNCTIONS)):
            return True
        dotted = self.flow.code.dotted(function) if isinstance(function, (ast.Name, ast.Attribute)) else None
        return dotted is not None and not self.is_switch_of_library(dotted)

    def is_switch_of_library(self, dotted: str) -> bool:
        if dotted.rpartition(".")[2] in SWITCHES:
            return True
        return not dotted.startswith("torch.") and row_of(dotted) is None and facts(dotted) is None

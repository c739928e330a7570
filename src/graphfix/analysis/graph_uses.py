"""What becomes of the graphs of a program, as its runs show it.

Read off the record: the statements in which gradients are asked for, in which what a walk reaches is made, and out of which a graph
gets to code that is not in sight; and of each forward pass, whether what it becomes is carried, kept, detached, or walked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property

from graphfix.analysis.contributors import Facts
from graphfix.analysis.explore import Tape
from graphfix.analysis.forwards import context_of_call, is_score, rated_at, trained_by_method
from graphfix.analysis.outliving import attribute_of, is_kept, out_of_sight, outlives
from graphfix.analysis.region_doubts import is_tame
from graphfix.analysis.runs import Run
from graphfix.analysis.shown import composition
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import Context, split_loop
from graphfix.interpreter.frames import CallStack, Frame
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import nodes_in
from graphfix.source.program import Program

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class GraphUses:
    """What becomes of the graphs that the runs of one program record."""

    def __init__(self, program: Program, tape: Tape, facts: Facts) -> None:
        """Take in the walks of all runs; `note_asked` takes in, run by run, what they do with graphs besides."""
        self.tape = tape
        self.facts = facts
        self.program = program
        self.touched: set[ast.AST] = set()
        self.asking: set[ast.AST] = set()
        self.building: set[ast.AST] = set()
        self.foreign: set[ast.AST] = set()
        self.trained: set[Leaf] = set()
        self.callees: set[object] = set()
        self.walked_calls: set[object] = set()
        self.cut: dict[Node, set[Context]] = {}
        self.chosen: dict[Node, set[Context]] = {}
        self.carried: set[Node] = set()
        self.kept: set[Node] = set()
        self.gathered: set[Node] = set()
        self.handed: set[Node] = set()
        for run in tape.runs:
            self.note_walked(run)

    def note_walked(self, run: Run) -> None:
        """Take in what a run walks, and what of its graphs is carried from one iteration to another, kept, or left for later."""
        crossing = (
            parent
            for node in run.recording.nodes
            for parent in node.parents
            if not parent.walks and self.are_turns_apart(parent, node)
        )
        self.carried.update(history(list(crossing)))
        self.kept.update(history([node for store in run.recording.stores if outlives(store) for node in store.nodes]))
        self.gathered.update(history([node for store in run.recording.stores for node in store.beside]))
        for node in history(run.recording.left):  # the walk may lie behind the end of the run
            self.hand_on(node)
        for node in run.recording.nodes:
            if node.walks:
                self.mark(self.touched, node.trace)
                self.trained.update(node.leaves)
                if node.callee is not None:
                    self.callees.add(node.callee)
                    self.walked_calls.update((composition(node),) if self.facts.is_sure(node) else ())

    def are_turns_apart(self, parent: Node, node: Node) -> bool:
        """Whether a node is made of what another iteration made, outside of the forward passes of modules."""
        if split_loop(parent.context, node.context) is None:
            return False
        return split_loop(context_of_call(parent), context_of_call(node)) is not None

    def note_asked(self, run: Run) -> list[Store]:
        """Take in what a run does with graphs besides walks; the stores to objects, of which it is open who gets what they keep."""
        recording = run.recording
        for found, noted in ((self.cut, recording.cuts), (self.chosen, recording.choices)):
            by_context: dict[Context, list[Node]] = {}
            for node, contexts in noted.items():
                for context in contexts:
                    by_context.setdefault(context, []).append(node)
            for context, nodes in by_context.items():
                for node in history(nodes):
                    found.setdefault(node, set()).add(context)
        steps = [update.trace for update in recording.updates if update.steps and update.leaves]
        for trace in (*recording.asks, *steps):
            self.mark(self.touched, trace)
            self.mark(self.asking, trace)
        for trace in recording.builds:
            self.mark(self.building, trace)
        called: dict[ast.AST, set[object]] = {}
        for call in recording.foreign:
            if not is_tame(call):
                self.mark(self.foreign, call.trace)
            called.setdefault(call.site, set()).add(call.callee)
        returned = [node for node, escapes in recording.escapes.items() if any(why == "returned" for _, why, _ in escapes)]
        scores = set(history([node for node in returned if is_score(node)]))
        safe = {site for site in called if self.returns_graph(called[site])} | rated_at(recording)
        for node, escapes in recording.escapes.items():
            if any(site not in safe and (why != "returned" or node not in scores) for site, why, _ in escapes):
                self.hand_on(node)
        for node in filter(self.is_dropped, recording.nodes):
            self.hand_on(node)
        if run.entry.is_module:
            return []
        kept = out_of_sight(run)
        stores = [store for store in recording.stores if not self.handed.issuperset(store.nodes) and is_kept(store, kept)]
        for node in (node for store in stores if not attribute_of(store) for node in store.nodes):
            self.hand_on(node)
        return [store for store in stores if attribute_of(store)]

    def hand_on(self, node: Node) -> None:
        """Whoever gets it may walk it."""
        self.mark(self.touched, node.trace)
        self.handed.add(node)

    def is_dropped(self, node: Node) -> bool:
        """Whether nobody takes what code that is not analysed gives: it is called like that for what it keeps."""
        above = self.program.parent(node.site) if node.callee is not None and self.program.holds(node.site) else None
        return isinstance(above, ast.Expr) and above.value is node.site

    def returns_graph(self, callees: set[object]) -> bool:
        """Whether an unknown callee hands the graph on and does not walk itself: a module, or what a walk elsewhere shows to do so."""
        return callees <= self.callees | self.facts.modules

    def mark(self, marked: set[ast.AST], trace: CallStack) -> None:
        """All statements and functions of this file in which `trace` lies."""
        for _, statement in trace:
            part: ast.AST | None = statement
            while part is not None and part not in marked and self.program.holds(part):
                marked.add(part)
                if isinstance(part, SCOPES) and part is not statement:
                    break
                part = self.program.parent(part)

    def is_forward(self, node: Node) -> bool:
        """Whether a module (or an operation on parameters) made the node and saved tensors for their gradient."""
        if not self.may_be_forward(node):
            return False
        if node.callee is not None and any(node.callee in run.recording.frozen for run in self.tape.runs):
            return False
        if node.leaves or node.callee in self.facts.modules:
            return bool(node.leaves) or not trained_by_method(node.callee, self.callees)
        grows = (node in self.carried or node in self.gathered) and composition(node) in self.walked_calls
        return node.callee in self.callees and (node.training is False or grows or self.is_cut_late(node))

    def may_be_forward(self, node: Node) -> bool:
        """The same, as far as the node itself tells: what becomes of it is another question."""
        return node.saves and self.is_of_module(node) and (self.facts.is_sure(node) or composition(node) in self.walked_calls)

    def is_of_module(self, node: Node) -> bool:
        """Whether a module, or an operation on parameters, made the node."""
        return bool(node.leaves) or node.callee in self.facts.modules or node.callee in self.callees

    @cached_property
    def handing(self) -> set[Frame]:
        """The calls behind which graphs that they have made go on."""
        nodes = [node for run in self.tape.runs for node in run.recording.nodes]
        steps = ((parent.trace, {frame for frame, _ in node.trace}) for node in nodes for parent in node.parents)
        return {frame for trace, later in steps for frame, _ in trace if frame not in later}

    @cached_property
    def only_read(self) -> set[Node]:
        """The forward passes of modules out of which numbers are read, in a file that goes backward nowhere, and asks for no gradient."""
        recordings = [run.recording for run in self.tape.runs]
        if self.tape.truncated or any(r.walks or r.asks or r.updates for r in recordings):
            return set()
        read = [node for r in recordings for number in r.numbers for node in nodes_in(number.value)]
        carried = {node.site for node in self.carried}  # that is state, which is detached
        every = {*history(read), *self.cut}
        return {node for node in every if node.site not in carried and any(leaf.module for leaf in node.leaves)}

    def is_cut_at_once(self, node: Node) -> bool:
        """Whether the iteration that makes the node also detaches what it becomes, so that no graph outlives it."""
        if node in self.carried or node in self.kept:
            return False
        return is_in(self.cut.get(node, ()), context_of_call(node))

    def is_chosen_from(self, node: Node) -> bool:
        """Whether the iteration that makes the node takes but a number or an index out of what it becomes: a score, an action."""
        return node not in self.carried and is_in(self.chosen.get(node, ()), context_of_call(node))

    def is_cut_later(self, node: Node) -> bool:
        """Whether what becomes of the node is put away, and detached only then."""
        return node in self.kept and node not in self.carried and bool(self.cut.get(node))

    def is_cut_late(self, node: Node) -> bool:
        """Whether the graphs of a loop's iterations are kept until they are cut as a whole, behind the loop."""
        made = context_of_call(node)
        return any(len(context) < len(made) and context == made[: len(context)] for context in self.cut.get(node, ()))

    def is_trained(self, node: Node) -> bool:
        """Whether some walk reaches the same parameters, or those of which they are a copy."""
        if node.callee is not None and node.callee in self.callees:
            return True
        leaves = {leaf for below in history([node]) for leaf in below.leaves}
        return any(leaf in self.trained or leaf.origin in self.trained for leaf in leaves)


def is_in(contexts: Iterable[Context], made: Context) -> bool:
    """Whether something happens in the iterations in which something else was `made`."""
    return any(context[: len(made)] == made for context in contexts)

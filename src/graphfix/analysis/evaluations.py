"""Evaluations: loops, functions and statements that build graphs which nobody walks, in no run.

Read off the record: the forward passes that no walk reaches, and the statements in which gradients are asked for, in which what a
walk reaches is made, and out of which graph gets to code that is not in sight. What is left around a forward pass is its region.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from graphfix.analysis.call_graph import spelled_in
from graphfix.analysis.contributors import Facts
from graphfix.analysis.explore import Tape
from graphfix.analysis.forwards import (
    calls_module,
    context_of_call,
    has_own_module,
    is_module_call,
    is_resumed,
    is_score,
    rated_at,
    trained_by_method,
)
from graphfix.analysis.outliving import attribute_of, is_kept, out_of_sight, outlives
from graphfix.analysis.region import Doubt, Region, fewest_in, told_once
from graphfix.analysis.region_doubts import doubt_about, is_tame, missed_in
from graphfix.analysis.runs import Run
from graphfix.analysis.shown import composition
from graphfix.autograd.graph import Leaf, Node, history
from graphfix.autograd.iteration import Context, split_loop
from graphfix.interpreter.frames import CallStack, Frame
from graphfix.interpreter.recording import Store
from graphfix.interpreter.values import nodes_in
from graphfix.model import OUTSIDE
from graphfix.models.words import ASKS
from graphfix.source.program import Program
from graphfix.source.subtree import children, subtree

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef)
YIELDS = (ast.Yield, ast.YieldFrom, ast.Await)
UNKNOWN_CALLERS = f"{OUTSIDE}may call it, and call backward() on what it computes"


class Regions:
    """Finds the regions of one program."""

    def __init__(self, program: Program, tape: Tape, facts: Facts, stays_inside: Callable[[str], bool]) -> None:
        """`stays_inside`: whether what attributes of this name hold gets to no walk, and not out of sight."""
        self.tape = tape
        self.facts = facts
        self.stays_inside = stays_inside
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
        self.detached: set[ast.stmt] = set()
        self.handed: set[Node] = set()
        self.recording: set[ast.AST] = set()
        self.makers: set[ast.AST] = set()
        self.found: list[Region] = []
        self.sound: dict[ast.stmt, bool] = {}
        self.inside: dict[ast.stmt, set[ast.AST]] = {}
        self.find()

    def find(self) -> None:
        for run in self.tape.runs:
            self.note_walked(run)
        if not any(self.may_be_forward(node) and not node.walks for run in self.tape.runs for node in run.recording.nodes):
            return
        objects_keep = [store for run in self.tape.runs for store in self.note_asked(run)]
        placed = self.placed()
        # whether others get what an object keeps takes long to find out, and no region comes of it
        public = [store for store in objects_keep if not self.stays_inside(attribute_of(store))] if placed else []
        for node in (node for store in public for node in store.nodes):
            self.hand_on(node)
        if public:
            self.detached.clear()
            placed = self.placed()
        for part, region in placed.items():
            if part in self.detached and not (region.grows or region.evaluates):
                continue  # a forward pass that is detached is meant to be
            called = [each for each in region.within or () if each in region.complete and isinstance(part, LOOPS)]
            start = next(iter(called), part)  # what only calls it needs nothing
            if not any(start in other.parts for other in self.found):
                region.parts = self.extent(start, region)
                region.forwards.extend(f for p in region.parts if p is not start and p in placed for f in placed[p].forwards)
                if isinstance(start, LOOPS) and missed_in((start,), self.tape) is None:
                    region.recording = fewest_in(start, self.recording, self.makers)
                region.doubt = doubt_about(region, self.tape, self.foreign) or region.doubt
                self.found.append(region)
        self.found = told_once(self.found)

    def placed(self) -> dict[ast.stmt, Region]:
        """The widest statements around forward passes that nobody walks, as far as is known what gets to whom."""
        placed: dict[ast.stmt, Region] = {}
        for run in self.tape.runs:
            surely: set[Node] = set()
            for node in run.recording.nodes:
                if self.is_of_module(node) or not surely.isdisjoint(node.parents):
                    surely.add(node)
                if not node.walks and node in surely:
                    self.mark(self.recording, node.trace)
                    self.makers.update(statement for _, statement in node.trace)
                    if self.is_forward(node):
                        self.place(node, run, placed)
        return placed

    # What the runs say

    def note_walked(self, run: Run) -> None:
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

    # Where the regions are

    def place(self, node: Node, run: Run, placed: dict[ast.stmt, Region]) -> None:
        """Find the widest region around a forward pass that nobody walks."""
        chains = self.chains(node)
        often = not run.entry.is_module or any(entry.loop is not None for entry, _ in context_of_call(node))
        frames = [frame for frame, _, _ in chains]
        wide = [(frame, statement, part) for frame, statement, around in chains for part in around]
        tried = [*wide, *((frame, statement, statement) for frame, statement, _ in chains[-1:])]
        for index, (frame, statement, part) in enumerate(tried):
            if part not in self.touched and self.qualifies(part, node, frames, frame, often):
                region = placed.setdefault(part, Region((part,)))
                region.forwards.append((node, statement))
                inner = [
                    (f, where) for where, _, f in tried[index + 1 :] if isinstance(f, ast.FunctionDef) and f not in self.touched
                ]
                known = region.within
                region.within = [f for f, w in inner if (known is None or f in known) and self.may_be_one(f, node, w)]
                region.complete.update(f for f, where in inner if self.qualifies(f, node, frames, where, often))
                region.evaluates |= node.training is False
                region.grows |= node in self.carried or node in self.kept
                if not run.entry.is_module:
                    region.doubt = region.doubt or Doubt(UNKNOWN_CALLERS)
                return

    def chains(self, node: Node) -> list[tuple[Frame, ast.stmt, list[ast.stmt]]]:
        """For each call in this file that leads to `node`: frame, statement, functions and loops around it, outermost first."""
        found: list[tuple[Frame, ast.stmt, list[ast.stmt]]] = []
        for frame, statement in node.trace:
            if is_module_call(frame):
                break  # what a module does inside is its callers' affair
            if is_resumed(frame):
                found.clear()  # what it makes becomes of whoever sends to it, and not of the call that began it
            if self.program.holds(statement) and not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                found.append((frame, statement, [p for p in self.around(statement) if isinstance(p, (*FUNCTIONS, *LOOPS))]))
        return found

    def around(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements around `statement` in its function, outermost first, headed by the function itself."""
        chain: list[ast.stmt] = []
        part: ast.AST | None = statement
        while part is not None:
            if isinstance(part, ast.stmt):
                chain.append(part)
            if isinstance(part, SCOPES) and part is not statement:
                break
            part = self.program.parent(part)
        return chain[::-1]

    def qualifies(self, part: ast.stmt, node: Node, frames: list[Frame], frame: Frame, often: bool) -> bool:
        """Whether `part`, in `frame`, is an evaluation: in that mode, or a loop over a forward pass that is trained elsewhere.

        `often`: it runs more than once, or its callers are not in sight.
        """
        if not self.is_sound(part):
            return False
        inside = self.inside.get(part) or self.inside.setdefault(part, set(subtree(part)))
        if all(leaf.site in inside for leaf in node.leaves if leaf.site is not None) and any(leaf.site for leaf in node.leaves):
            return False  # its parameters are made there
        cut = self.is_cut_at_once(node)
        evaluates = node.training is False or node in self.only_read
        loops = {e.loop: e.frame for e, _ in node.context if isinstance(e.loop, LOOPS) and e.frame in frames}
        if cut and not (evaluates and any(isinstance(inner, LOOPS) and inner in loops for inner in subtree(part))):
            if often and self.is_spare(part, node, frame):
                return True
            self.detached.update(() if self.only_read else (part,))
            return False
        is_spent = self.is_cut_later(node) or self.is_chosen_from(node)
        if often and is_spent and (not evaluates or self.is_trained(node)) and self.is_spare(part, node, frame):
            return True
        if isinstance(part, LOOPS):
            return part in loops and (evaluates or self.is_trained(node) or node.callee is not None and self.is_cut_late(node))
        if isinstance(part, FUNCTIONS):
            if not self.may_be_one(part, node, frame):
                return False
            return evaluates or (
                self.is_trained(node) and any(isinstance(inner, LOOPS) and inner in loops for inner in subtree(part))
            )
        if isinstance(part, (ast.ClassDef, ast.Return, ast.If, ast.Try, ast.Match)):
            return False
        # one forward pass beside the training of the same loop
        beside = any(loop in self.asking for loop, where in loops.items() if where is frame)
        return evaluates and beside and calls_module(frame, node)

    def may_be_one(self, part: ast.stmt, node: Node, frame: Frame) -> bool:
        """Whether a function in which a forward pass happens may be an evaluation: one alone, or together with another pass in it."""
        return (
            isinstance(part, ast.FunctionDef)
            and self.is_sound(part)
            and part not in self.building
            and not has_own_module(frame, node)
        )

    def is_spare(self, part: ast.stmt, node: Node, frame: Frame) -> bool:
        """Whether a function, or a statement, runs a module of which nothing but detached values is used.

        Where the very statement detaches them its author has decided, unless there was no choice: numpy takes no graphs.
        """
        statement = next((own for where, own in node.trace if where is frame), None)
        words = {word for each in children(statement) for word in spelled_in(each)} if statement is not None else set()
        if statement is None or "detach" in words and "numpy" not in words:
            return False
        if not calls_module(frame, node) or has_own_module(frame, node) and not self.is_trained(node) or part in self.building:
            return False
        # who computes with a parameter itself runs no module
        applied = (leaf.module and not (leaf.is_parameter and frame is node.trace[-1][0]) for leaf in node.leaves)
        if node.callee not in self.facts.modules and not any(applied):
            return False
        return isinstance(part, (ast.FunctionDef, ast.Assign, ast.Expr, ast.AnnAssign, ast.AugAssign))

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

    def is_sound(self, part: ast.stmt) -> bool:
        """Whether nothing that no run reaches asks for gradients, and no block would be left half-way."""
        return self.sound[part] if part in self.sound else self.sound.setdefault(part, self._is_sound(part))

    def _is_sound(self, part: ast.stmt) -> bool:
        for inner in subtree(part):
            if isinstance(inner, YIELDS):
                return False
            word = inner.attr if isinstance(inner, ast.Attribute) else inner.arg if isinstance(inner, ast.keyword) else ""
            reads_flag = word == "requires_grad" and isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Load)
            if word in ASKS and not reads_flag:
                return False
        return not any(spelled_in(item.context_expr) & ASKS for item in self.contexts_of(part))

    def contexts_of(self, part: ast.stmt) -> Iterator[ast.withitem]:
        """The contexts that its function has entered around `part`."""
        above = self.program.parent(part)
        while above is not None and not isinstance(above, SCOPES):
            yield from above.items if isinstance(above, (ast.With, ast.AsyncWith)) else ()
            above = self.program.parent(above)

    def extent(self, part: ast.stmt, region: Region) -> tuple[ast.stmt, ...]:
        """A function or loop stands for itself; a statement goes together with those before it that record for it alone, and those after it
        that go on with what it makes."""
        if isinstance(part, (*FUNCTIONS, *LOOPS)):
            return (part,)
        block = self.program.block_of(part)
        start = end = block.index(part)
        for index in range(start + 1, len(block)):
            if block[index] in self.touched or isinstance(block[index], (*SCOPES, ast.Return)) or not self.is_sound(block[index]):
                break
            if block[index] in self.recording:
                end = index
        leading = {statement for node in history([node for node, _ in region.forwards]) for _, statement in node.trace}
        is_doubted = any(each in self.foreign for each in block[start : end + 1])
        while start and block[start - 1] in leading and self.only_records(block[start - 1], is_doubted):
            start -= 1
        return tuple(block[start : end + 1])

    def only_records(self, statement: ast.stmt, is_doubted: bool) -> bool:
        """Whether a simple statement records graphs that nobody walks, and brings in no doubt that there is not yet."""
        is_free = statement not in self.touched and (is_doubted or statement not in self.foreign)
        return (
            is_free and isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)) and self.is_sound(statement)
        )


def is_in(contexts: Iterable[Context], made: Context) -> bool:
    """Whether something happens in the iterations in which something else was `made`."""
    return any(context[: len(made)] == made for context in contexts)

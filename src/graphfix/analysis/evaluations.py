"""Evaluations: loops, functions and statements that build graphs which no walk of any simulated run reaches.

Around each such forward pass, the region is the widest part that leaves out what `graph_uses` tells of: the statements in which
gradients are asked for, in which what a walk reaches is made, and out of which a graph gets to code that is not in sight.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence, asked_once
from graphfix.analysis.forwards import calls_module, context_of_call, has_own_module, is_module_call, is_resumed
from graphfix.analysis.graph_uses import SCOPES, GraphUses
from graphfix.analysis.outliving import attribute_of
from graphfix.analysis.region import Doubt, Region, fewest_in, told_once
from graphfix.analysis.region_doubts import doubt_about, missed_in
from graphfix.analysis.runs import Run
from graphfix.analysis.unrecorded_callers import called_unseen
from graphfix.autograd.graph import Node, history
from graphfix.interpreter.frames import Frame
from graphfix.interpreter.values import nodes_in
from graphfix.model import OUTSIDE
from graphfix.models.words import ASKS
from graphfix.source.spelling import spelled_in
from graphfix.source.subtree import children, subtree

LOOPS = (ast.For, ast.AsyncFor, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
YIELDS = (ast.Yield, ast.YieldFrom, ast.Await)
UNKNOWN_CALLERS = f"{OUTSIDE}may call it, and call backward() on what it computes"


def within(region: Region, node: Node, statement: ast.stmt) -> ast.stmt:
    """The statement of the region that runs a forward pass, where `statement` only calls that."""
    return next((own for _, own in node.trace if own in region.statements), statement)


@asked_once
def regions(evidence: Evidence) -> Regions:
    """The loops, functions and statements that build graphs which nobody walks."""
    return Regions(evidence)


class Regions:
    """Finds the regions of one program."""

    def __init__(self, evidence: Evidence) -> None:
        program, tape, facts = evidence.program, evidence.tape, evidence.facts
        self.evidence = evidence
        self.tape = tape
        self.facts = facts
        self.program = program
        self.uses = GraphUses(program, tape, facts)
        self.detached: set[ast.stmt] = set()
        self.recording: set[ast.AST] = set()
        self.makers: set[ast.AST] = set()
        self.found: list[Region] = []
        self.once: dict[ast.stmt, bool] = {}
        self.sound: dict[ast.stmt, bool] = {}
        self.inside: dict[ast.stmt, set[ast.AST]] = {}
        self.find()

    def find(self) -> None:
        if not any(self.uses.may_be_forward(node) and not node.walks for run in self.tape.runs for node in run.recording.nodes):
            return
        objects_keep = [store for run in self.tape.runs for store in self.uses.note_asked(run)]
        placed = self.placed()
        # whether others get what an object keeps takes long to find out, and no region comes of it
        public = [store for store in objects_keep if not self.evidence.stays_inside(attribute_of(store))] if placed else []
        for node in (node for store in public for node in store.nodes):
            self.uses.hand_on(node)
        if public:
            self.detached.clear()
            placed = self.placed()
        for part, region in placed.items():
            region.once = self.once.get(part, False)
            if part in self.detached and not (region.grows or region.evaluates or region.once):
                continue  # a forward pass that is detached is meant to be
            called = [each for each in region.within or () if each in region.complete and isinstance(part, LOOPS)]
            start = next(iter(called), part)  # what only calls it needs nothing
            if not any(start in other.parts for other in self.found):
                region.parts = self.extent(start, region)
                if start is not part:
                    region.forwards = [(node, within(region, node, statement)) for node, statement in region.forwards]
                region.forwards.extend(f for p in region.parts if p is not start and p in placed for f in placed[p].forwards)
                if isinstance(start, LOOPS) and missed_in((start,), self.tape) is None:
                    region.recording = fewest_in(start, self.recording, self.makers)
                region.doubt = doubt_about(region, self.tape, self.uses.foreign) or region.doubt
                self.found.append(region)
        self.found = told_once(self.found)

    def placed(self) -> dict[ast.stmt, Region]:
        """The widest statements around forward passes that nobody walks, as far as is known what gets to whom."""
        placed: dict[ast.stmt, Region] = {}
        for run in self.tape.runs:
            surely: set[Node] = set()
            for node in run.recording.nodes:
                if self.uses.is_of_module(node) or not surely.isdisjoint(node.parents):
                    surely.add(node)
                if not node.walks and node in surely:
                    self.uses.mark(self.recording, node.trace)
                    self.makers.update(statement for _, statement in node.trace)
                    if self.uses.is_forward(node):
                        self.place(node, run, placed)
        return placed

    # Where the regions are

    def place(self, node: Node, run: Run, placed: dict[ast.stmt, Region]) -> None:
        """Find the widest region around a forward pass that nobody walks."""
        chains = list(itertools.takewhile(lambda call: not self.serves_others(call[0]), self.chains(node)))
        often = not run.entry.is_module or any(entry.loop is not None for entry, _ in context_of_call(node))
        frames = [frame for frame, _, _ in chains]
        wide = [(frame, statement, part) for frame, statement, around in chains for part in around]
        # what training also comes to is no evaluation; the statement that calls it may be one
        own = [(frame, statement, statement) for frame, statement, _ in chains if statement not in self.uses.touched]
        tried = [*wide, *own[-1:]]
        for index, (frame, statement, part) in enumerate(tried):
            if part not in self.uses.touched and self.qualifies(part, node, frames, frame, often):
                region = placed.setdefault(part, Region((part,)))
                region.forwards.append((node, statement))
                inner = [
                    (f, where)
                    for where, _, f in tried[index + 1 :]
                    if isinstance(f, ast.FunctionDef) and f not in self.uses.touched
                ]
                known = region.within
                region.within = [f for f, w in inner if (known is None or f in known) and self.may_be_one(f, node, w)]
                region.complete.update(f for f, where in inner if self.qualifies(f, node, frames, where, often))
                region.evaluates |= node.training is False
                region.grows |= node in self.uses.carried or node in self.uses.kept
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

    def serves_others(self, frame: Frame) -> bool:
        """Whether a function hands graphs on to its caller, and has others of which the runs do not show what they do with them."""
        if not isinstance(frame.definition, FUNCTIONS) or not self.hands_out(frame):
            return False
        return called_unseen(self.evidence, frame.definition)

    def hands_out(self, frame: Frame) -> bool:
        """Whether a call's graph goes on behind it: it returns one, or others are made of what it has made."""
        return frame in self.uses.handing or frame.returned is not None and bool(nodes_in(frame.returned))

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
        """Whether `part`, in `frame`, is an evaluation, or would be one if it ran more than once; `often`: it does."""
        if self.is_evaluation(part, node, frames, frame, often):
            self.once[part] = False
            return True
        if often or not self.is_evaluation(part, node, frames, frame, True):
            return False
        self.once.setdefault(part, True)
        return True

    def is_evaluation(self, part: ast.stmt, node: Node, frames: list[Frame], frame: Frame, often: bool) -> bool:
        """Whether `part`, in `frame`, is an evaluation: in that mode, or a loop over a forward pass that is trained elsewhere.

        `often`: it runs more than once, or its callers are not in sight.
        """
        if not self.is_sound(part):
            return False
        inside = self.inside.get(part) or self.inside.setdefault(part, set(subtree(part)))
        if all(leaf.site in inside for leaf in node.leaves if leaf.site is not None) and any(leaf.site for leaf in node.leaves):
            return False  # its parameters are made there
        cut = self.uses.is_cut_at_once(node)
        evaluates = node.training is False or node in self.uses.only_read
        loops = {e.loop: e.frame for e, _ in node.context if isinstance(e.loop, LOOPS) and e.frame in frames}
        if cut and not (evaluates and any(isinstance(inner, LOOPS) and inner in loops for inner in subtree(part))):
            if often and self.is_spare(part, node, frame):
                return True
            self.detached.update(() if self.uses.only_read else (part,))
            return False
        is_spent = self.uses.is_cut_later(node) or self.uses.is_chosen_from(node)
        if often and is_spent and (not evaluates or self.uses.is_trained(node)) and self.is_spare(part, node, frame):
            return True
        if isinstance(part, LOOPS):
            return part in loops and (
                evaluates or self.uses.is_trained(node) or node.callee is not None and self.uses.is_cut_late(node)
            )
        if isinstance(part, FUNCTIONS):
            if not self.may_be_one(part, node, frame):
                return False
            return evaluates or (
                self.uses.is_trained(node) and any(isinstance(inner, LOOPS) and inner in loops for inner in subtree(part))
            )
        if isinstance(part, (ast.ClassDef, ast.Return, ast.If, ast.Try, ast.Match)):
            return False
        # one forward pass beside the training of the same loop
        beside = any(loop in self.uses.asking for loop, where in loops.items() if where is frame)
        return evaluates and beside and calls_module(frame, node)

    def may_be_one(self, part: ast.stmt, node: Node, frame: Frame) -> bool:
        """Whether a function in which a forward pass happens may be an evaluation: one alone, or together with another pass in it."""
        return (
            isinstance(part, ast.FunctionDef)
            and self.is_sound(part)
            and part not in self.uses.building
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
        if (
            not calls_module(frame, node)
            or has_own_module(frame, node)
            and not self.uses.is_trained(node)
            or part in self.uses.building
        ):
            return False
        # who computes with a parameter itself runs no module
        applied = (leaf.module and not (leaf.is_parameter and frame is node.trace[-1][0]) for leaf in node.leaves)
        if node.callee not in self.facts.modules and not any(applied):
            return False
        return isinstance(part, (ast.FunctionDef, ast.Assign, ast.Expr, ast.AnnAssign, ast.AugAssign))

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
            if (
                block[index] in self.uses.touched
                or isinstance(block[index], (*SCOPES, ast.Return))
                or not self.is_sound(block[index])
            ):
                break
            if block[index] in self.recording:
                end = index
        leading = {statement for node in history([node for node, _ in region.forwards]) for _, statement in node.trace}
        is_doubted = any(each in self.uses.foreign for each in block[start : end + 1])
        while start and block[start - 1] in leading and self.only_records(block[start - 1], is_doubted):
            start -= 1
        return tuple(block[start : end + 1])

    def only_records(self, statement: ast.stmt, is_doubted: bool) -> bool:
        """Whether a simple statement records graphs that nobody walks, and brings in no doubt that there is not yet."""
        is_free = statement not in self.uses.touched and (is_doubted or statement not in self.uses.foreign)
        return (
            is_free and isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)) and self.is_sound(statement)
        )

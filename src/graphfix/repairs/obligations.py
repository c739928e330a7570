"""What has to hold so that a fix changes no run that works, read off its operations, and what of it the flow leaves open.

A run of the tape is a witness of what happened; that something does *not* happen is for the flow of the file to say. Each kind
of operation has its obligations (docs/design.md, "Proofs"): an obligation that is not discharged is told with the place that
could not be excluded, and one that is contradicted takes the fix away.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.freed import leaves, surely_called
from graphfix.analysis.flow.graph import Field, FlowGraph, Place, Sink
from graphfix.analysis.flow.scopes import FUNCTIONS
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.model import (
    AddArgument,
    Append,
    Decorate,
    Finding,
    Ground,
    InsertAfter,
    InsertBefore,
    Move,
    Operation,
    RemoveArgument,
    Replace,
    Span,
    Wrap,
)  # fmt: skip
from graphfix.models.words import WALKS
from graphfix.repairs.introspection import seen
from graphfix.repairs.joined import Joined
from graphfix.repairs.objects import Objects
from graphfix.repairs.observers import Observers
from graphfix.repairs.readers import Open, Readers
from graphfix.repairs.unrecorded import Unrecorded, asks_for_recording

# modules that keep statistics of what they are given: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
KEEP_STATISTICS = frozenset("BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d".split())
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(eq=False)
class Proof:
    """Asks the flow of one file about the fixes of its findings."""

    evidence: Evidence

    @cached_property
    def readers(self) -> Readers:
        return Readers(self.evidence.flow)

    @cached_property
    def walked(self) -> set[ast.AST]:
        """Where runs have walked."""
        return {walk.site for run in self.evidence.tape.runs for walk in run.recording.walks}

    def open_of(self, finding: Finding) -> Iterator[Open]:
        """What is left open of the fix of `finding`."""
        assert finding.fix is not None
        yield from self.swallowed(finding)
        yield from seen(self.flow)
        if finding.fix.ground in (Ground.DROPPED, Ground.UNTRAINED):
            trained = finding.fix.ground is Ground.DROPPED
            cuts = [each for operation in finding.fix.operations for each in self.cut_by(operation)]
            yield from Observers(self.evidence).unseen_steps(trained, cuts)
            for arrival in self.graph.reach(cuts).of(Sink.WALKED):
                if arrival.site not in self.walked:
                    yield Open(arrival.site, "may walk it for the gradients that are dropped")
        if finding.fix.ground is Ground.JOINED:
            yield from Joined(self.evidence).joined(finding)
        cuts = [each for operation in finding.fix.operations for each in self.cut_by(operation)]
        keeps = any(isinstance(each, AddArgument) for each in finding.fix.operations)
        for operation in finding.fix.operations:
            yield from self.of_operation(operation, finding.fix.ground, cuts, keeps)

    def swallowed(self, finding: Finding) -> Iterator[Open]:
        """A program that raises does not work: unless somebody swallows what is raised where the finding lies, or its story leads."""
        assert finding.fix is not None
        spans = {finding.span, *(label.span for label in finding.story if label.path == self.evidence.document.path)}
        if finding.fix.ground is Ground.UNUSED:
            return
        for part in ast.walk(self.evidence.document.tree):
            if isinstance(part, (ast.stmt, ast.expr)) and self.evidence.span(part) in spans:
                place = swallowed(self.flow, part)
                if place is not None:
                    yield Open(place, "may swallow the error that this repairs")

    def cut_by(self, operation: Operation) -> list[ast.expr]:
        """The expression behind which an operation cuts the graph."""
        expression = self.expression(operation.span) if isinstance(operation, Append) else None
        return [expression] if expression is not None else []

    def of_operation(self, operation: Operation, ground: Ground, cuts: list[ast.expr], keeps: bool) -> Iterator[Open]:
        """`cuts`: where the fix cuts graphs; `keeps`: whether it lets another walk retain its graph."""
        if isinstance(operation, Append):
            expression = self.expression(operation.span)
            if expression is not None and operation.text.startswith((".detach()", ".item()")):
                yield from self.cut(expression, ground)
        elif isinstance(operation, Replace):
            yield from self.replaced(operation)
        elif isinstance(operation, Move):
            yield from self.moved(operation)
        elif isinstance(operation, (InsertBefore, InsertAfter)) and ground is not Ground.RAISES:
            yield from self.inserted(operation, ground)
        elif isinstance(operation, (Wrap, Decorate)):
            yield from Unrecorded(self.evidence).unrecorded(operation)
        elif isinstance(operation, RemoveArgument) and ground is not Ground.RAISES:
            call = self.expression(operation.span)
            if isinstance(call, ast.Call) and operation.name == "retain_graph":
                yield from self.freed_early(call, cuts)
            elif isinstance(call, ast.Call) and operation.name == "create_graph":
                yield from self.unrecorded_gradients(call)
                if not keeps:
                    yield from self.freed_early(call, cuts)

    def replaced(self, operation: Replace) -> Iterator[Open]:
        """`float(x)` or `x.data[0]` becomes `x.item()`, `x.data` becomes `x.detach()`: `x` is a tensor, and nobody writes to its copy."""
        old = self.expression(operation.span)
        text, _, method = operation.text.rpartition(".")
        if old is None or method not in ("item()", "detach()"):
            return
        wanted = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        kept = [p for p in ast.walk(old) if isinstance(p, ast.expr) and self.evidence.document.source(p) in (text, wanted)]
        above = self.evidence.document.parents.get(kept[0]) if kept else None
        read = isinstance(above, ast.Attribute) and above.attr == "data"  # a number has none: such a run does not work
        other = self.readers.no_tensor(kept[0], no_number=read) if kept else None
        if other is not None:
            yield Open(other, "may be no tensor")
        if isinstance(old, ast.Attribute) and old.attr == "data" and method == "detach()":
            writer = self.readers.written(old)
            if writer is not None:
                yield Open(writer, "may write to it, which autograd would see")
            for arrival in self.graph.reach([old]).of(Sink.ESCAPES):
                yield Open(arrival.site, "is not in sight and may write to it")

    def unrecorded_gradients(self, call: ast.Call) -> Iterator[Open]:
        """Nobody walks the gradients that a call returns, and no hook, and no `backward` of the code's own, sees that they are recorded."""
        own = [each for each in self.flow.code.methods.get("backward", ()) if self.is_of_function(each)]
        inner = [part for each in own for part in ast.walk(each)]
        asking = {part for part in inner if asks_for_recording(self.flow, part)}
        asking |= {
            part for part in inner if isinstance(part, ast.Call) and name_of(part.func) in WALKS
        }  # only works where it records
        for document in self.flow.code.documents.values():
            for part in ast.walk(document.tree):
                hook = isinstance(part, ast.Attribute) and part.attr.endswith("_hook") and "forward" not in part.attr
                if hook or part in asking:
                    yield Open(part, "sees whether gradients are recorded")
        for arrival in self.graph.reach([call]).arrivals:
            yield Open(arrival.site, arrival.sink.value, arrival.sink is Sink.WALKED)

    def moved(self, operation: Move) -> Iterator[Open]:
        """Each iteration walks what is set up in it: none goes on, or leaves, before; and nobody reads it outside of the body."""
        before = operation.before
        yield from self.read_outside(operation)
        for reflection in self.flow.calls.reflections:
            yield Open(reflection, "may read it under its name")
        yield from self.side_effects(operation)
        for loop in (
            part for part in ast.walk(self.evidence.document.tree) if isinstance(part, LOOPS) and self.at(part.body[0], before)
        ):
            for statement in loop.body:
                if any(name_of(call.func) in WALKS for call in surely_called(statement)):
                    return
                if leaves(statement):
                    yield Open(statement, "may go on to the next iteration before the walk")
            yield Open(loop.body[-1], "may be reached without a walk")

    def side_effects(self, operation: Move) -> Iterator[Open]:
        """A loop may run no iteration, or write before its first: what is moved has no effect of its own, and what yields writes nothing."""
        document = self.evidence.document
        for part in ast.walk(document.tree):
            if isinstance(part, ast.stmt) and self.at(part, operation.span):
                for code in self.flow.reached(part):
                    inner = [] if code is part else list(ast.walk(code))
                    for each in inner:
                        stores = isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store)
                        if stores or isinstance(each, (ast.Global, ast.Nonlocal)):
                            yield Open(each, "would not happen where the loop runs no iteration")
                called = (each for each in ast.walk(part) if isinstance(each, ast.Call))
                if document.words & KEEP_STATISTICS and any(call in self.flow.calls.recording for call in called):
                    yield Open(part, "would not update statistics where the loop runs no iteration")
            if isinstance(part, LOOPS[:2]) and self.at(part.body[0], operation.before):
                for call in self.flow.pulled(part.iter):
                    if Joined(self.evidence).may_write(call):
                        yield Open(call, "may write to what is moved before the first iteration")
                for code in self.flow.run_by(part.iter):
                    for each in ast.walk(code):
                        if isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store):
                            yield Open(each, "may change what is moved before the first iteration")

    def read_outside(self, operation: Move) -> Iterator[Open]:
        """Reads of what a moved statement binds, in the head of the loop or around it."""
        document = self.evidence.document
        for loop in (
            part for part in ast.walk(document.tree) if isinstance(part, LOOPS) and self.at(part.body[0], operation.before)
        ):
            home = document.enclosing(loop, (*FUNCTIONS, ast.Module))
            moved = next((part for part in ast.walk(home) if isinstance(part, ast.stmt) and self.at(part, operation.span)), None)  # type: ignore[arg-type]
            if moved is None:
                continue
            head = {
                part
                for each in (getattr(loop, "test", None), getattr(loop, "iter", None))
                if each is not None
                for part in ast.walk(each)
            }
            bound = {part.id for part in ast.walk(moved) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            for name in bound:
                early = read_before_bound(loop, name)
                if early is not None:
                    yield Open(early, "reads what the iteration before has left")
            for part in ast.walk(home):  # type: ignore[arg-type]
                if isinstance(part, ast.Name) and part.id in bound and (isinstance(part.ctx, ast.Del) or part in head):
                    yield Open(part, "needs it outside of the loop's body")

    def cut(self, expression: ast.expr, ground: Ground) -> Iterator[Open]:
        """The graph of `expression` ends: it is a tensor, and its graph is freed, or nobody walks it or asks for it."""
        other = self.readers.no_tensor(expression)
        if other is not None:
            yield Open(other, "may be no tensor")
        yield from Objects(self.flow).told_apart(expression)
        reach = self.graph.reach([expression])
        freed = self.flow.freed.before(expression)
        for arrival in reach.of(Sink.ASKED) if ground is Ground.UNUSED else ():
            yield Open(arrival.site, arrival.sink.value)
        if ground is Ground.UNUSED and self.flow.calls.reflections:
            yield Open(self.flow.calls.reflections[0], "may ask for its graph" if freed else "may walk it")
        if ground is Ground.UNUSED and freed:
            caught = (swallowed(self.flow, arrival.site) for arrival in reach.of(Sink.WALKED))
            yield from (Open(place, "may swallow the error of a walk that is to fail") for place in caught if place is not None)
        if ground is Ground.UNUSED and not freed:
            yield from (Open(a.site, a.sink.value, a.sink is Sink.WALKED) for a in reach.of(Sink.WALKED, Sink.ESCAPES))

    def inserted(self, operation: InsertBefore | InsertAfter, ground: Ground) -> Iterator[Open]:
        """A statement that detaches a variable: what it holds is freed there, or nobody walks it."""
        document = self.evidence.document
        anchor = next((p for p in ast.walk(document.tree) if isinstance(p, ast.stmt) and self.at(p, operation.span)), None)
        target = detached_target(operation.text)
        if anchor is None or target is None:
            return
        loop = document.enclosing(anchor, (*LOOPS, *FUNCTIONS))
        if re.fullmatch(r"(?:if .*\n\s*)?([\w.]+) = \1\.detach\(\)(\.requires_grad_\(\))?", operation.text):
            for place in self.bindings(anchor if isinstance(operation, InsertAfter) else None, loop, target):
                other = self.readers.no_tensor(place, operation.text.startswith("if "))
                if other is not None:
                    yield Open(other, "may be no tensor")
        until = anchor if isinstance(operation, InsertAfter) else None
        since = last_bound(loop, target, until) if until is not None and isinstance(loop, LOOPS) else None
        if not operation.text.startswith("if "):
            yield from self.may_be_none(loop, target, since)
        freed = isinstance(loop, LOOPS) and self.flow.freed.before_next(loop, target, until)
        starts = [place for place, _ in self.flow.freed.left_by(loop, target)] if isinstance(loop, ast.stmt) else []
        if not starts:
            yield Open(anchor, "may leave what is not freed")
        for arrival in self.graph.reach(starts).arrivals:
            if operation.text.endswith(".requires_grad_()") and ends_at(arrival.site, target):
                continue
            if not freed or arrival.sink is Sink.ASKED and self.asks_for_graph(arrival.site):
                # a run that walked there, and nothing of this, is a witness
                nobody = ground is Ground.UNUSED and arrival.sink is Sink.WALKED and arrival.site not in self.walked
                yield Open(arrival.site, arrival.sink.value, nobody)

    def may_be_none(self, loop: ast.AST | None, target: str, since: ast.stmt | None) -> Iterator[Open]:
        """Where what is detached is set to None: a name within the loop, an attribute anywhere but where its object is made.

        `since`: the statement of the loop's body by which a name is surely bound, so that what was before does not matter.
        """
        word = target.rpartition(".")[2]
        inside = set(ast.walk(loop)) if loop is not None else set()
        for document in self.flow.code.documents.values():
            for part in ast.walk(document.tree):
                if not isinstance(part, (ast.Name, ast.Attribute)) or not isinstance(part.ctx, ast.Store):
                    continue
                if "." in target:
                    made = getattr(document.enclosing(part, FUNCTIONS), "name", "__init__") == "__init__"
                    concerned = isinstance(part, ast.Attribute) and part.attr == word and not made
                else:
                    concerned = isinstance(part, ast.Name) and part.id == word and part in inside
                    concerned = concerned and (since is None or part.lineno >= since.lineno)
                for source in self.readers.origins(part) if concerned else ():
                    if isinstance(source, ast.Constant) and source.value is None:
                        yield Open(part, "may be None there")

    def is_flag(self, site: ast.AST) -> bool:
        """Whether what is asked stays the same when a graph is freed."""
        return isinstance(site, ast.Attribute) and site.attr in ("requires_grad", "is_leaf")

    def asks_for_graph(self, site: ast.AST) -> bool:
        """Whether a reader looks at the graph itself."""
        return isinstance(site, ast.Attribute) and site.attr in ("requires_grad", "grad_fn", "is_leaf", "next_functions")

    def bindings(self, just_before: ast.stmt | None, loop: ast.AST | None, target: str) -> list[Place]:
        """What may be in a variable: what the statement `just_before` binds to it, or else all that the code around does."""
        if isinstance(just_before, ast.Assign) and any(ast.unparse(each) == target for each in just_before.targets):
            return [just_before.value]
        if "." in target:
            return [Field(target.rpartition(".")[2])]
        around = self.evidence.document.enclosing(loop, (*FUNCTIONS, ast.Module)) if loop is not None else None
        named = (
            (part for part in ast.walk(around) if isinstance(part, ast.Name) and part.id == target) if around is not None else ()
        )
        return [part for part in named if isinstance(part.ctx, ast.Store)]

    def freed_early(self, call: ast.Call, cuts: list[ast.expr]) -> Iterator[Open]:
        """Nothing of the graph below a walk is walked once more, now or in a later iteration, other than through what is cut."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) and not self.flow.code.calls.get(call) else None
        for reflection in self.flow.calls.reflections:
            yield Open(reflection, "may walk it again")
        for document in self.flow.code.documents.values():
            for part in ast.walk(document.tree) if "saved_tensors" in document.words else ():
                if (
                    isinstance(part, ast.Attribute)
                    and part.attr == "saved_tensors"
                    and not self.is_of_function(document.enclosing(part, FUNCTIONS))
                ):
                    yield Open(part, "may read what is saved once more")
        for root in [*call.args[:1], *([receiver] if receiver is not None else [])]:
            starts = self.flow.computations_below(root, without=cuts)
            reach = self.graph.reach(starts, without=cuts)
            seen_whole = not any(reach.of(Sink.ESCAPES))
            for arrival in reach.arrivals:
                if arrival.sink is Sink.ASKED:
                    if self.asks_for_graph(arrival.site) and not self.is_flag(arrival.site):
                        yield Open(arrival.site, "may use the graph itself")
                    continue
                if arrival.crosses or arrival.site is not call and not self.comes_before(arrival.site, call):
                    # a run that got there, and did not walk it again, is a witness, too
                    surely = seen_whole and arrival.sink is Sink.WALKED and arrival.site not in self.walked
                    yield Open(arrival.site, f"{arrival.sink.value} again", surely)

    def is_of_function(self, method: ast.AST | None) -> bool:
        """Whether a method is the backward pass of an operation of the code's own."""
        cls = self.flow.code.class_of.get(method) if method is not None else None
        return cls is not None and getattr(method, "name", "") == "backward" and "Function" in self.flow.code.base_names(cls)

    # -- what the flow says -------------------------------------------------------------------------------------------

    @property
    def flow(self) -> Flow:
        return self.evidence.flow

    @property
    def graph(self) -> FlowGraph:
        return self.evidence.flow.graph

    def at(self, node: ast.AST, span: Span) -> bool:
        return self.evidence.span(node) == span

    def expression(self, span: Span) -> ast.expr | None:
        """The expression that lies at `span`: the outermost one."""
        for part in ast.walk(self.evidence.document.tree):
            if isinstance(part, ast.expr) and self.at(part, span):
                return part
        return None

    def comes_before(self, site: ast.AST, call: ast.Call) -> bool:
        """Whether `site` runs before `call` in each iteration: both in one function and loop."""
        document = self.evidence.document
        if site not in document.parents or getattr(site, "lineno", 0) >= call.lineno:
            return False
        around = (*FUNCTIONS, ast.Module)
        return document.enclosing(site, around) is document.enclosing(call, around) and document.enclosing(
            site, (*LOOPS, *around)
        ) is document.enclosing(call, (*LOOPS, *around))


def detached_target(text: str) -> str | None:
    """The variable that statements such as `h = h.detach()` detach; None for other statements."""
    for part in ast.walk(ast.parse(text)):
        if isinstance(part, ast.Assign) and "detach()" in ast.unparse(part.value):
            return ast.unparse(part.targets[0])
    return None


def last_bound(loop: ast.For | ast.AsyncFor | ast.While, name: str, until: ast.stmt) -> ast.stmt | None:
    """The last statement of the loop's body itself, up to `until`, that surely binds `name`."""
    before = loop.body[: loop.body.index(until) + 1] if until in loop.body else []
    bind = (
        statement
        for statement in reversed(before)
        if isinstance(statement, ast.Assign)
        and any(isinstance(part, ast.Name) and part.id == name for target in statement.targets for part in stored(target))
    )
    return next(bind, None)


def stored(target: ast.expr) -> Iterator[ast.expr]:
    """What an assignment binds: the target, or each part of it."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from stored(part)
    else:
        yield target


def ends_at(site: ast.AST, target: str) -> bool:
    """Whether a walk ends at the variable `target`, and frees nothing below: `torch.autograd.grad(loss, target)`."""
    if not isinstance(site, ast.Call) or name_of(site.func) != "grad":
        return False
    inputs = [*site.args[1:2], *(keyword.value for keyword in site.keywords if keyword.arg == "inputs")]
    listed = inputs[0].elts if inputs and isinstance(inputs[0], (ast.Tuple, ast.List)) else inputs
    return len(listed) == 1 and ast.unparse(listed[0]) == target


def read_before_bound(loop: ast.For | ast.AsyncFor | ast.While, name: str) -> ast.Name | None:
    """A read of `name` in the loop's body before the statement that first binds it; None where the loop never does."""
    for statement in (part for each in loop.body for part in ast.walk(each) if isinstance(part, ast.stmt)):
        named = [part for part in ast.walk(statement) if isinstance(part, ast.Name) and part.id == name]
        if isinstance(statement, (ast.AugAssign, ast.Assign, ast.AnnAssign)) and any(
            not isinstance(n.ctx, ast.Load) for n in named
        ):
            bound = (statement.lineno, statement.col_offset)
            reads = [part for each in loop.body for part in ast.walk(each) if isinstance(part, ast.Name) and part.id == name]
            early = [part for part in reads if isinstance(part.ctx, ast.Load) and (part.lineno, part.col_offset) < bound]
            return early[0] if early else None
    return None

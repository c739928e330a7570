"""What has to hold so that a statement may move into a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.freed import LOOPS, leaves, surely_called
from graphfix.analysis.flow.scopes import FUNCTIONS
from graphfix.model import Move
from graphfix.models.words import WALKS
from graphfix.repairs.inquiry import Inquiry, Open
from graphfix.repairs.joined import Joined

# modules that keep statistics of what they are given: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
KEEP_STATISTICS = frozenset("BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm1d LazyBatchNorm2d".split())


class Moved(Inquiry):
    """Asks about statements that a fix moves."""

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
                    yield Open(statement, "may go on to the next iteration before the backward()")
            yield Open(loop.body[-1], "may be reached without a backward()")

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

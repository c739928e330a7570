"""What has to hold so that a statement may move into a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.freed import LOOPS
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Place
from graphfix.dataflow.between import arriving
from graphfix.dataflow.iterations import beginnings, endings, exposed_reads
from graphfix.dataflow.ways import Ways
from graphfix.effects.methods import writes
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts, words_with
from graphfix.ir.instructions import Call, Instruction
from graphfix.model import Move, Span
from graphfix.models.words import WALKS
from graphfix.obligations.changed_inside import ChangedInside
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.obligations.merged_backwards import Joined
from graphfix.obligations.recorded import Recorded
from graphfix.source.subtree import children, subtree


class Moved(Inquiry):
    """Asks about statements that a fix moves."""

    def moved(self, operation: Move) -> Iterator[Open]:
        """Each iteration walks what is set up in it: none goes on, or leaves, before; and nobody reads it outside of the body."""
        before = operation.before
        yield from self.read_outside(operation)
        for reflection in self.flow.calls.reflections:
            yield Open(reflection, "may read the variable by its name")
        yield from self.side_effects(operation)
        yield from self.passed(operation)
        yield from Recorded(self.evidence).unknown()
        for loop in self.loops_begun_at(before):
            yield from ChangedInside(self.evidence).changed(self.statements_at(operation.span), loop.body)
            yield from self.ends_without_backward(loop)

    def ends_without_backward(self, loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[Open]:
        """The ends of an iteration to which a way leads without a backward pass."""
        ways = self.flow.paths.ways(loop)
        ends = arriving(ways, beginnings(ways, loop), going_backward(ways), endings(ways, loop))
        for node in dict.fromkeys(each.node for each in ends):
            if isinstance(node, (ast.Continue, ast.Break, ast.Return)):
                yield Open(node, "may start the next iteration before backward() is called")
            else:
                yield Open(loop.body[-1], "may be reached without a backward()")

    def passed(self, operation: Move) -> Iterator[Open]:
        """The statements that it moves past change nothing that it reads: neither parameters and data, nor modules, nor modes."""
        program = self.evidence.program
        around = (*FUNCTIONS, ast.ClassDef, ast.Module)
        homes = dict.fromkeys(program.enclosing(part, around) for part in self.statements_at(operation.span))
        for statement in (part for home in homes if home is not None for part in subtree(home) if isinstance(part, ast.stmt)):
            if statement in homes:
                continue
            span = program.span(statement)
            between = operation.span.end <= span.start and span.end <= operation.before.start
            if between and program.enclosing(statement, around) in homes:
                for part in own_parts(statement):
                    if self.may_change(part):
                        yield Open(part, "may change the result of the moved statement")
                        break

    def may_change(self, part: ast.AST, inside: bool = False) -> bool:
        """Whether a part of a statement may change something. `inside`: of a function that is looked through already."""
        if isinstance(part, (ast.Attribute, ast.Subscript)):
            return not isinstance(part.ctx, ast.Load)
        if isinstance(part, ast.AugAssign):
            return not self.is_counter(part)
        if isinstance(part, ast.Call):
            dotted = self.flow.code.calls.get(part, "")
            return not is_still(dotted) if dotted else self.method_may_change(part, inside)
        return isinstance(part, (ast.Delete, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom))

    def is_counter(self, statement: ast.AugAssign) -> bool:
        """Whether a number is counted up: an object, such as a tensor, would be written to in place."""
        sources = self.graph.sources(statement.target)
        numbers = [source for source in sources if isinstance(source, ast.Constant)]
        return bool(numbers) and all(isinstance(source, (ast.Constant, ast.AugAssign)) for source in sources)

    def method_may_change(self, call: ast.Call, inside: bool) -> bool:
        """The same of a call of code in sight, of an object, or of what is not known."""
        sources = self.graph.sources(call.func)
        if all(self.is_layer(source) for source in sources):
            return False
        if call in self.flow.calls.targets and call not in self.flow.calls.opaque:
            codes = [code for code in self.flow.reached(call) if code is not call] if not inside else []
            return any(self.may_change(each, True) for code in codes for each in subtree(code) if not sets_up(each, code))
        if any(isinstance(source, ast.ClassDef) for source in sources):
            return False  # a class that only takes on what another one sets up
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if call in self.flow.calls.opaque or not method:
            return True
        return method != "__init__" and writes(method)  # of a base class, which sets up the object

    def is_layer(self, source: object) -> bool:
        """Whether a source makes a module of torch that keeps nothing of what it is called with."""
        dotted = self.flow.code.calls.get(source, "") if isinstance(source, ast.Call) else ""
        known = facts(dotted)
        return dotted.startswith("torch.nn.") and known is not None and not known.ever("statistics")

    def side_effects(self, operation: Move) -> Iterator[Open]:
        """A loop may run no iteration, or write before its first: what is moved has no effect of its own, and what yields writes nothing."""
        for part in self.statements_at(operation.span):
            for code in self.flow.reached(part):
                inner = [] if code is part else list(subtree(code))
                for each in inner:
                    stores = isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store)
                    puts = isinstance(each, ast.Call) and (library.puts(name := name_of(each.func)) or library.shows(name))
                    if stores or puts or isinstance(each, (ast.Global, ast.Nonlocal)):
                        yield Open(each, "would not run if the loop has no iteration")
            called = (each for each in subtree(part) if isinstance(each, ast.Call))
            keeps = self.evidence.program.file_of(part).words & words_with("statistics")
            if keeps and any(call in self.flow.calls.recording for call in called):
                yield Open(part, "would not update its running statistics if the loop has no iteration")
        for loop in self.loops_begun_at(operation.before):
            if isinstance(loop, LOOPS[:2]):
                yield from self.written_by_items(loop)

    def written_by_items(self, loop: ast.For | ast.AsyncFor) -> Iterator[Open]:
        """What yields the items of a loop writes nothing before the first iteration."""
        for call in self.flow.pulled(loop.iter):
            if Joined(self.evidence).may_write(call):
                yield Open(call, "may write, before the first iteration, to a tensor of the moved statement")
        for code in self.flow.run_by(loop.iter):
            for each in subtree(code):
                if isinstance(each, (ast.Attribute, ast.Subscript)) and isinstance(each.ctx, ast.Store):
                    yield Open(each, "may change, before the first iteration, what the moved statement reads")

    def statements_at(self, span: Span) -> list[ast.stmt]:
        """The statements that lie at a span."""
        return [part for part in self.evidence.program.lying_at(span) if isinstance(part, ast.stmt)]

    def loops_begun_at(self, span: Span) -> list[ast.For | ast.AsyncFor | ast.While]:
        """The loops whose body begins with the statement at a span."""
        above = (self.evidence.program.parent(each) for each in self.statements_at(span))
        return [each for each in above if isinstance(each, LOOPS) and self.at(each.body[0], span)]

    def read_outside(self, operation: Move) -> Iterator[Open]:
        """Reads of what a moved statement binds, in the head of the loop or around it."""
        for loop in self.loops_begun_at(operation.before):
            home = self.evidence.program.enclosing(loop, (*FUNCTIONS, ast.Module))
            moved = next(iter(self.statements_at(operation.span)), None)
            if moved is None:
                continue
            head = {
                part
                for each in (getattr(loop, "test", None), getattr(loop, "iter", None))
                if each is not None
                for part in subtree(each)
            }
            bound = {part.id for part in subtree(moved) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
            for name in bound:
                early = self.read_early(loop, name)
                if early is not None:
                    yield Open(early, "reads the value of the previous iteration")
            inside, runs = set(subtree(loop)), self.surely_runs(loop)
            for part in subtree(home):  # type: ignore[arg-type]
                if not isinstance(part, ast.Name) or part.id not in bound:
                    continue
                if isinstance(part.ctx, ast.Del) or part in head:
                    yield Open(part, "uses it outside the loop body")
                elif not runs and isinstance(part.ctx, ast.Load) and part not in inside and part.lineno > loop.lineno:
                    yield Open(part, "uses it even if the loop has no iteration")

    def read_early(self, loop: ast.For | ast.AsyncFor | ast.While, name: str) -> ast.AST | None:
        """A read of what the iteration before has left in a name that the loop binds; none where only what binds it anew reads it."""
        paths = self.flow.paths
        named = [part for each in loop.body for part in subtree(each) if isinstance(part, ast.Name) and part.id == name]
        binding = {paths.statement(part) for part in named if not isinstance(part.ctx, ast.Load)}
        ways = paths.ways(loop)
        # over what an earlier iteration has left, and freed, no backward pass goes on
        raising = [each for each in going_backward(ways) if any(part in named for part in subtree(each.node))]
        asked = {part for each in raising for part in subtree(each.node)}
        reads = exposed_reads(ways, loop, name, raising) if binding else ()
        early = (each.node for each in reads if paths.statement(each.node) not in binding and each.node not in asked)
        return min(early, key=lambda node: (node.lineno, node.col_offset), default=None)  # type: ignore[attr-defined]

    def surely_runs(self, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
        """Whether the program spells out that a loop runs an iteration."""
        if isinstance(loop, ast.While):
            return isinstance(loop.test, ast.Constant) and bool(loop.test.value)
        sources = self.graph.sources(loop.iter)
        return bool(sources) and all(self.has_items(source) for source in sources)

    def has_items(self, source: Place) -> bool:
        if isinstance(source, (ast.List, ast.Tuple)):
            return any(not isinstance(each, ast.Starred) for each in source.elts)
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and source.func.attr in ("split", "chunk"):
            return bool(
                source.args
            )  # https://docs.pytorch.org/docs/stable/generated/torch.split.html: of an empty tensor, one empty part
        if not isinstance(source, ast.Call) or self.flow.code.calls.get(source) != "range" or source.keywords:
            return False
        bounds = [{getattr(each, "value", None) for each in self.graph.sources(argument)} for argument in source.args]
        numbers = [next(iter(each)) for each in bounds if len(each) == 1]
        return len(numbers) == len(bounds) and all(type(each) is int for each in numbers) and len(range(*numbers)) > 0


def is_still(dotted: str) -> bool:
    """Whether a function of a library changes nothing that a computation reads."""
    row = row_of(dotted)
    if row is not None:
        return not (row.writes or row.calls or row.keeps or row.draws)
    known = facts(dotted)
    return known is not None and not (known.inplace or known.mutates)


def sets_up(part: ast.AST, code: ast.AST) -> bool:
    """Whether an object gets an attribute where it is made."""
    own = isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self"
    return own and getattr(code, "name", "") == "__init__"


def own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The parts of a statement that run with it: not the bodies of the functions that it defines, nor the statements in it."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return
    pending: list[ast.AST] = [statement]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(each for each in children(part) if not isinstance(each, (ast.stmt, ast.Lambda, ast.ExceptHandler)))


def going_backward(ways: Ways) -> list[Instruction]:
    """The calls of a code object that are backward passes, by their names."""
    calls = (each for each in ways.code.instructions() if isinstance(each, Call))
    return [each for each in calls if isinstance(each.node, ast.Call) and name_of(each.node.func) in WALKS]

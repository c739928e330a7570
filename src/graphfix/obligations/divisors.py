"""Whether what a total is divided by is surely not zero: there a tensor gives nan or inf, and a Python number raises."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Place
from graphfix.effects.table import facts
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree

# the size of what they give depends on values: torch tags them so (`torch.Tag.dynamic_output_shape`); `filter` is Python's
SELECTING = frozenset("nonzero argwhere masked_select unique unique_consecutive flatnonzero filter".split())
SIZES = frozenset(("size", "numel", "nelement", "__len__"))
KEEPING = frozenset(("list", "tuple", "sorted", "set"))


@dataclass(eq=False)
class Divisors:
    """Asks the flow of one file."""

    flow: Flow

    @cached_property
    def drained(self) -> set[str]:
        """The containers that items are taken out of, as they are written."""
        functions = (call.func for call in self.flow.code.calls)
        return {ast.dump(each.value) for each in functions if isinstance(each, ast.Attribute) and library.takes_out(each.attr)}

    def is_not_zero(self, divisor: Place, asked: set[Place]) -> bool:
        """Whether a divisor is surely a number other than zero, or the length of what is not empty where there is a total."""
        if divisor in asked:
            return True
        asked.add(divisor)
        if isinstance(divisor, ast.Constant):
            return isinstance(divisor.value, (int, float)) and divisor.value != 0
        if isinstance(divisor, ast.BinOp):
            both = self.is_not_zero(divisor.left, asked) and self.is_not_zero(divisor.right, asked)
            more = isinstance(divisor.op, ast.Add) and (is_positive(divisor.left) or is_positive(divisor.right))
            return more or both and isinstance(divisor.op, (ast.Mult, ast.Add))
        if isinstance(divisor, ast.Call) and self.flow.code.calls.get(divisor) == "len":
            emptied = any(ast.dump(each) in self.drained for each in divisor.args)
            return not emptied and not any(self.may_select(each, set()) for each in divisor.args)
        changes = (each.op for each in self.ways(divisor) if isinstance(each, ast.AugAssign))
        sources = [source for source in self.flow.graph.sources(divisor) if source is not divisor]
        return bool(sources) and all(map(is_upward, changes)) and all(self.is_not_zero(source, asked) for source in sources)

    def counts(self, divisor: ast.expr, stored: ast.expr) -> bool:
        """Whether a divisor counts what the total adds up: the loop runs as often, or it grows in the same block, by what
        is surely more than zero."""
        statement = self.flow.paths.statement(stored)
        counted = divisor.args[0] if isinstance(divisor, ast.Call) and divisor.args else None
        for loop in self.flow.paths.around(statement):
            if not isinstance(loop, ast.For):
                continue
            bound = bound_of(loop.iter)
            if bound is not None and self.is_the_same(bound, divisor):
                return True  # where it is zero there is no total
            if counted is not None and any(self.is_the_same(part, counted) for part in subtree(loop.iter)):
                return True  # there is no total where there is nothing to loop over
        block = self.flow.paths.block_of(statement)
        of = ast.dump(counted) if counted is not None else ""
        return any(ast.dump(filled) == of for each in block for filled in filled_by(each)) or any(
            self.grows(each, divisor) for each in block if isinstance(each, ast.AugAssign)
        )

    def grows(self, statement: ast.AugAssign, divisor: ast.expr) -> bool:
        """Whether a statement makes a divisor more than zero, which nothing takes back."""
        ways = self.ways(divisor)
        if statement not in ways or not self.is_more(statement.value, set()):
            return False
        changes = [each.op for each in ways if isinstance(each, (ast.AugAssign, ast.BinOp))]
        anew = (each for each in self.bound_between(statement, divisor, ways) if not self.is_changed(each))
        return all(map(is_upward, changes)) and not any(anew)

    def is_changed(self, target: ast.AST) -> bool:
        return isinstance(self.flow.paths.parents.get(target), ast.AugAssign)

    def is_the_same(self, part: ast.AST, divisor: ast.expr) -> bool:
        """Whether two expressions are written alike, and what they read is not bound anew between them."""
        if type(part) is not type(divisor) or ast.dump(part) != ast.dump(divisor):
            return False
        pairs = [pair for pair in zip(ast.walk(part), ast.walk(divisor)) if isinstance(pair[0], (ast.Name, ast.Attribute))]
        return not any(self.differ(before, behind) for before, behind in pairs)

    def differ(self, before: ast.AST, behind: ast.AST) -> bool:
        ways = self.ways(behind)
        return self.ways(before) - {before} != ways - {behind} or any(True for _ in self.bound_between(before, behind, ways))

    def ways(self, place: Place) -> set[Place]:
        """All places by which the object at `place` may get there, and the statements that change it on its way."""
        seen: set[Place] = set()
        pending = [place]
        while pending:
            current = pending.pop()
            if current not in seen:
                seen.add(current)
                pending.extend(self.flow.graph.brought(current))
        return seen

    def bound_between(self, before: ast.AST, behind: ast.AST, ways: set[Place]) -> Iterator[ast.AST]:
        """The names of `ways` that are bound between two nodes of one function, in the order of the text."""
        function = self.flow.paths.function(before)
        if self.flow.paths.function(behind) is not function or self.flow.paths.module(before) is not self.flow.paths.module(behind):
            return
        for each in ways:
            if isinstance(each, (ast.Name, ast.Attribute)) and isinstance(each.ctx, ast.Store):
                if position(before) < position(each) < position(behind) and self.flow.paths.function(each) is function:
                    yield each

    def is_more(self, value: Place, asked: set[Place]) -> bool:
        """Whether what a counter grows by is surely more than zero: a number that is, or the size of what has items."""
        if value in asked:
            return True
        asked.add(value)
        if isinstance(value, ast.Constant):
            return is_positive(value)
        if isinstance(value, ast.BinOp):
            return isinstance(value.op, (ast.Add, ast.Mult)) and self.is_more(value.left, asked) and self.is_more(value.right, asked)
        if isinstance(value, ast.Call) and self.flow.code.calls.get(value) == "int":
            return all(self.is_more(each, asked) for each in value.args)
        sources = [source for source in self.flow.graph.sources(value) if source is not value]
        if sources:
            return all(self.is_more(source, asked) for source in sources)
        measured = self.measured(value)
        if measured is not None:
            return not self.may_select(measured, set())
        return not isinstance(value, (ast.Call, ast.Compare, ast.BoolOp, ast.UnaryOp))  # else it is an option, or data

    def measured(self, value: Place) -> ast.expr | None:
        """What a value is the size of: `len(x)`, `x.size(0)`, `x.shape[0]`."""
        if isinstance(value, ast.Call):
            if self.flow.code.calls.get(value) == "len" and value.args:
                return value.args[0]
            func = value.func
            return func.value if isinstance(func, ast.Attribute) and func.attr in SIZES else None
        shape = value.value if isinstance(value, ast.Subscript) else None
        return shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else None

    def may_select(self, items: Place, asked: set[Place]) -> bool:
        """Whether a container, or a tensor, may hold nothing: it began empty, or holds what of others passes a test."""
        if items in asked:
            return False
        asked.add(items)
        sources = self.flow.graph.sources(items)
        return any(begins_empty(each) or self.selects(each, asked) for each in sources)

    def selects(self, source: Place, asked: set[Place]) -> bool:
        if isinstance(source, ast.Subscript):
            indices = source.slice.elts if isinstance(source.slice, ast.Tuple) else [source.slice]
            masked = any(self.is_mask(each) for index in indices for each in self.flow.graph.sources(index))
            return masked or any(self.may_select(each, asked) for each in (*indices, source.value))
        if not isinstance(source, ast.Call):
            return False
        if name_of(source.func) in SELECTING:
            return True
        dotted = self.flow.code.calls.get(source, "")
        if not dotted and isinstance(source.func, ast.Attribute):
            return self.may_select(source.func.value, asked)
        handed_on = dotted in KEEPING or dotted.startswith("torch.")
        return handed_on and any(self.may_select(each, asked) for each in source.args)

    @true_of_itself
    def is_mask(self, index: Place) -> bool:
        """Whether an index says of each item whether it is taken."""
        if isinstance(index, ast.Call):
            func = index.func
            dotted = self.flow.code.calls.get(index, "") or f"torch.Tensor.{func.attr if isinstance(func, ast.Attribute) else ''}"
            known = facts(dotted)
            return known is not None and known.result == "tensor" and known.elementwise and not known.differentiable
        if isinstance(index, ast.Subscript):
            return any(self.is_mask(each) for each in self.flow.graph.sources(index.value) if each is not index)
        if isinstance(index, ast.BinOp):
            return isinstance(index.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        return isinstance(index, ast.Compare) or isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert)


def is_upward(operator: ast.operator) -> bool:
    """Whether what is more than zero stays so with another number that is."""
    return isinstance(operator, (ast.Add, ast.Mult))


def position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def bound_of(items: ast.expr) -> ast.expr | None:
    """The bound of a `range` that counts: where it is zero, there is nothing in it."""
    if not isinstance(items, ast.Call) or name_of(items.func) != "range" or not items.args:
        return None
    down = len(items.args) > 2 and isinstance(items.args[2], ast.UnaryOp)
    return items.args[0] if down or len(items.args) == 1 else items.args[1]


def begins_empty(source: Place) -> bool:
    """Whether a container is made without items, or of those that pass a test."""
    if isinstance(source, (ast.ListComp, ast.SetComp, ast.DictComp)):
        return any(generator.ifs for generator in source.generators)
    if isinstance(source, ast.Call):
        return name_of(source.func) in ("list", "set", "dict", "deque", "defaultdict") and not source.args
    return (
        isinstance(source, (ast.List, ast.Set, ast.Tuple)) and not source.elts or isinstance(source, ast.Dict) and not source.keys
    )


def filled_by(statement: ast.stmt) -> Iterator[ast.expr]:
    """The list that a statement puts an item into."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "add", "appendleft"):
        yield call.func.value


def is_positive(node: Place) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value > 0

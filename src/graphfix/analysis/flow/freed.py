"""Whether the graph of a value has surely been freed where it is read: every way from where it is made leads through a backward pass.

What a run shows was freed in that run. Here the code says that it is freed in all: no way leads from a definition of the value
to where it is read that passes no `backward()` over it. Where a function is given the value, all its callers have to show that.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from graphfix.analysis.flow.backwards import Backwards
from graphfix.analysis.flow.functions import parameters
from graphfix.analysis.flow.places import Field, Place
from graphfix.dataflow.between import arrives, arriving
from graphfix.dataflow.iterations import going_round, leaving
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Call, Instruction, Return, WriteAttribute, WriteItem, Yield
from graphfix.source.subtree import subtree

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow

DEPTH = 4
LOOPS = (ast.For, ast.AsyncFor, ast.While)
Loop = ast.For | ast.AsyncFor | ast.While


class Freed:
    """Asks the flow of a file for backward passes that surely come first."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.graph = flow.graph
        self.paths = flow.paths
        self.backwards = Backwards(flow)

    def before(self, expression: ast.expr, depth: int = DEPTH, strict: bool = False) -> bool:
        """Whether the graph of `expression`, or a part of it, is surely freed where it is read.

        `strict`: the backward pass has to be over the value, or a term of it: data from which that was made has no graph to be freed.
        """
        if depth <= 0:
            return False
        if isinstance(expression, ast.Name):
            definitions = list(self.graph.values.get(expression, ()))
            return bool(definitions) and all(self.defined_freed(expression, each, depth, strict) for each in definitions)
        if isinstance(expression, (ast.Attribute, ast.Subscript)):
            if self.backward_between(expression, None):
                return True
            return isinstance(expression, ast.Subscript) and self.before(expression.value, depth - 1)
        if isinstance(expression, ast.BinOp):
            return self.before(expression.left, depth, True) or self.before(expression.right, depth, True)
        if isinstance(expression, ast.UnaryOp):
            return self.before(expression.operand, depth, True)
        if isinstance(expression, ast.Call):
            inner = [*given_to(expression), *([expression.func.value] if isinstance(expression.func, ast.Attribute) else [])]
            return any(
                self.before(each, depth - 1, True) for each in inner if isinstance(each, (ast.Name, ast.Attribute, ast.BinOp))
            )
        if isinstance(expression, (ast.Tuple, ast.List)):
            return bool(expression.elts) and all(self.before(each, depth) for each in expression.elts)
        return False

    def defined_freed(self, read: ast.Name, definition: Place, depth: int, strict: bool) -> bool:
        """Whether this definition of a name that is read holds a graph that is freed by then."""
        if isinstance(definition, ast.arg):
            return self.backward_between(read, definition, strict) or self.given_freed(definition, depth, strict)
        if not isinstance(definition, ast.Name):
            return False
        if self.backward_between(read, definition, strict):
            return True
        bound = self.paths.parents.get(definition)
        if (
            isinstance(bound, ast.Assign)
            and isinstance(bound.value, (ast.Name, ast.Attribute, ast.BinOp, ast.Call))
            and bound.value is not read
        ):
            return self.before(bound.value, depth - 1, strict)
        return False

    def given_freed(self, parameter: ast.arg, depth: int, strict: bool) -> bool:
        """Whether every caller gives the function what is freed already."""
        if parameter in self.graph.opaque:
            return False
        function = next((f for f in self.flow.code.functions if parameter in parameters(f)), None)
        callers = self.paths.callers.get(function, []) if function is not None else []
        given = [place for place in self.graph.values.get(parameter, ()) if isinstance(place, ast.expr)]
        return bool(callers) and bool(given) and all(self.before(each, depth - 1, strict) for each in given)

    def has_backward(self, read: ast.expr) -> bool:
        """Whether `read.backward()` has surely run before on what a name means: no number has that, nor has what holds tensors."""
        definitions = list(self.graph.values.get(read, ())) if isinstance(read, ast.Name) else []
        return bool(definitions) and all(
            isinstance(place, (ast.arg, ast.Name)) and self.passed(read, place, functools.partial(self.is_backward_of, read, place))
            for place in definitions
        )

    def is_backward_of(self, read: ast.expr, definition: Place, call: ast.Call) -> bool:
        """Whether a call is `name.backward()`, with the name that is read and the meaning that it has by this definition."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            return False
        return ast.dump(call.func.value) == ast.dump(read) and definition in self.graph.values.get(call.func.value, ())

    def backward_between(self, read: ast.expr, definition: Place | None, strict: bool = False) -> bool:
        """Whether each way from the `definition` to what is read leads through a backward pass over it."""

        def goes_back(call: ast.Call) -> bool:
            if not self.backwards.surely_frees(call, read, definition):
                return False
            return not (strict and self.backwards.is_data_of(call, definition))

        return self.passed(read, definition, goes_back)

    def passed(self, read: ast.expr, definition: Place | None, wanted: Callable[[ast.Call], bool]) -> bool:
        """Whether each way from a definition to where it is read makes a call that is `wanted`.

        `definition`: a name or parameter; None where it is not known. What is not made in the same code comes by way of the entry.
        """
        node = self.running_at(read, definition)
        ways, at = self.paths.ways(node), self.paths.raising(node)
        stops = [each for each in ways.code.instructions() if isinstance(each, Call) and is_wanted(each.node, wanted)]
        if not at or not stops:
            return False
        made = self.paths.of(definition) if isinstance(definition, ast.AST) else []
        begin = [each for each in made if each in ways.position]
        outside = not begin
        if isinstance(read, ast.Attribute):
            begin += self.setting(ways, read.attr)
        return all(ways.position[each][0] in ways.reachable and not arrives(ways, begin, each, stops, outside) for each in at)

    def running_at(self, read: ast.expr, definition: Place | None) -> ast.AST:
        """Where a read runs in the code of the definition: a generator expression runs where it stands."""
        node: ast.AST = read
        made_in = self.paths.owner(definition) if isinstance(definition, ast.AST) else None
        while isinstance(owner := self.paths.owner(node), ast.GeneratorExp) and owner is not made_in:
            node = owner
        return node

    def setting(self, ways: Ways, name: str) -> list[Instruction]:
        """The instructions by which an attribute of this name may get another value, here or in a function in sight that is called."""
        setters = {self.paths.owner(place) for place in self.graph.values.get(Field(name), ()) if isinstance(place, ast.Attribute)}
        return [
            each
            for each in ways.code.instructions()
            if isinstance(each, WriteAttribute) and each.name == name
            or isinstance(each, Call) and any(not setters.isdisjoint(self.flow.reached(f)) for f in self.flow.entered_at(each.node))
        ]

    def before_next(self, loop: Loop, text: str, until: ast.stmt | None = None) -> bool:
        """Whether what an iteration leaves in the variable or attribute `text` is surely freed when the next begins.

        `until`: by the end of this statement of the loop's body instead.
        """
        definitions = self.left_by(loop, text)
        return bool(definitions) and all(
            self.backward_follows(loop, place, statement, until)
            or not self.flow.computations_below(place)
            or isinstance(place, ast.Name)
            and self.handed_on_freed(place, DEPTH)
            or self.stored_freed(place)
            for place, statement in definitions
        )

    def stored_freed(self, definition: ast.expr) -> bool:
        """Whether each part of what is stored was freed before that, or has no graph: `self.state = {"h": h}` behind the backward pass."""
        value = value_of(self.paths.parents.get(definition), definition, self.paths.parents)
        if isinstance(value, ast.Dict) and None not in value.keys:
            parts = value.values
        else:
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] if isinstance(value, ast.Name) else []
        return bool(parts) and all(self.before(each) or not self.flow.computations_below(each) for each in parts)

    def handed_on_freed(self, definition: ast.Name, depth: int) -> bool:
        """Whether a name only gets what another name held, and that was freed before, be it in an earlier iteration: `older, old = old, h`."""
        value = value_of(self.paths.parents.get(definition), definition, self.paths.parents)
        if not isinstance(value, ast.Name) or depth <= 0:
            return False
        sources = list(self.graph.values.get(value, ()))
        return bool(sources) and all(
            isinstance(source, ast.Name)
            and (
                not self.flow.computations_below(source)
                or self.backward_between(value, source)
                or self.handed_on_freed(source, depth - 1)
            )
            for source in sources
        )

    def left_by(self, loop: Loop, text: str) -> list[tuple[ast.expr, ast.stmt]]:
        """The definitions of `text` that an iteration makes, each with the statement of the loop's body which leads there."""
        found: list[tuple[ast.expr, ast.stmt]] = []
        for statement in loop.body:
            for code in self.flow.reached(statement):
                for part in subtree(code):
                    if not isinstance(part, (ast.Name, ast.Attribute)) or not isinstance(part.ctx, ast.Store):
                        continue
                    own = isinstance(part, ast.Name) and code is statement and part.id == text
                    if own or isinstance(part, ast.Attribute) and "." in text and part.attr == text.rpartition(".")[2]:
                        found.append((part, self.paths.statement(part) if code is statement else statement))
        return found

    def backward_follows(self, loop: Loop, definition: ast.AST, statement: ast.stmt, until: ast.stmt | None) -> bool:
        """Whether each way from the definition to the end of the iteration surely frees what it defined.

        `statement`: that of the loop's body which leads to the definition, in this function or another.
        """
        own = self.paths.owner(definition)
        if own is self.paths.owner(loop):
            return self.freed_until(loop, self.made_at(definition, statement), definition, until)
        if own is not None and self.freed_in(own, definition):
            return True
        leading = [part for part in subtree(statement) if any(own in self.flow.reached(f) for f in self.flow.entered_at(part))]
        begin = [each for part in leading for each in self.paths.of(part)]
        known = self.paths.ways(loop).position
        return all(each in known for each in begin) and self.freed_until(loop, begin, definition, until)

    def made_at(self, definition: ast.AST, statement: ast.stmt) -> list[Instruction]:
        """The instructions by which a variable, attribute or item gets a value; `statement` does it where `definition` only reads."""
        if isinstance(getattr(definition, "ctx", None), ast.Load):
            return [each for each in self.paths.within(statement) if isinstance(each, WriteItem)]
        return self.paths.of(definition)

    def freed_in(self, owner: ast.AST, definition: ast.AST) -> bool:
        """Whether each way from the definition out of its function leads through a backward pass over it."""
        ways, begin = self.paths.through(owner), self.paths.of(definition)
        stops = self.backwards.over(ways, definition)
        ends = [each for each in ways.code.instructions() if isinstance(each, (Return, Yield))]
        return bool(begin and stops) and not any(arriving(ways, begin, stops, ends))

    def freed_until(self, loop: Loop, begin: Collection[Instruction], definition: ast.AST, until: ast.stmt | None) -> bool:
        """Whether each way from `begin` to the end of the iteration, or of the statement `until`, leads through a backward pass."""
        if not begin:
            return False
        ways = self.paths.ways(loop)
        stops = self.backwards.over(ways, definition)
        ends = list(leaving(ways, self.paths.within(until))) if until is not None else going_round(ways, loop)
        if until is not None and not ends:
            return False  # it has become no instruction
        return bool(stops) and not any(arriving(ways, begin, stops, ends, after=until is not None))


def is_wanted(node: ast.AST, wanted: Callable[[ast.Call], bool]) -> bool:
    return isinstance(node, ast.Call) and wanted(node)


def given_to(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def value_of(bound: ast.AST | None, definition: ast.expr, parents: dict[ast.AST, ast.AST]) -> ast.expr | None:
    """What an assignment gives to one of its targets, where that is written there. `bound`: what the target stands in."""
    if isinstance(bound, ast.Assign):
        return bound.value
    above = parents.get(bound) if isinstance(bound, ast.Tuple) else None
    if isinstance(above, ast.Assign) and isinstance(above.value, ast.Tuple) and len(above.value.elts) == len(bound.elts):  # type: ignore[union-attr]
        plain = not any(isinstance(part, ast.Starred) for part in (*above.value.elts, *bound.elts))  # type: ignore[union-attr]
        return above.value.elts[bound.elts.index(definition)] if plain else None  # type: ignore[union-attr]
    return None

"""Which calls surely free the graph of a value: backward passes over it, and functions that surely make one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import arguments, parameters
from graphfix.analysis.flow.places import Place
from graphfix.dataflow.between import arriving
from graphfix.dataflow.ways import Ways
from graphfix.ir.instructions import Call, Instruction, Return
from graphfix.models.words import LAUNCHERS
from graphfix.source.subtree import children, subtree

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow

DEPTH = 4
MOST_KEPT = 100  # of large programs, each answer has thousands of places


class Backwards:
    """Asks the flow of a file which calls free what."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.graph = flow.graph
        self._freeing: dict[tuple[ast.AST, ast.arg, int], bool] = {}
        self._below: dict[Place, set[Place]] = {}

    def over(self, ways: Ways, definition: Place) -> list[Instruction]:
        """The calls of a code object that surely free what a definition gives."""
        nothing = ast.Constant(None)
        calls = (each for each in ways.code.instructions() if isinstance(each, Call))
        return [each for each in calls if isinstance(each.node, ast.Call) and self.surely_frees(each.node, nothing, definition)]

    def surely_frees(self, call: ast.Call, read: ast.expr, definition: Place | None, depth: int = DEPTH) -> bool:
        """Whether a call surely frees the graph of what `read` means by this definition."""
        name = name_of(call.func)
        if name == "backward" or name in LAUNCHERS:
            if any(keyword.arg != "gradient" and not is_false(keyword.value) for keyword in call.keywords) or len(call.args) > 1:
                return False
            roots = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
            return any(self.leads_to(root, read, definition) for root in roots)
        functions = self.flow.calls.targets.get(call, {})
        if not functions or call in self.flow.calls.opaque or depth <= 0:
            return False
        return all(self.enters_backward(function, call, read, definition, depth - 1) for function in functions)

    def enters_backward(self, function: ast.AST, call: ast.Call, read: ast.expr, definition: Place | None, depth: int) -> bool:
        """Whether the function surely frees the argument that is made of what is read, on each way through it."""
        if isinstance(function, ast.Lambda) or self.flow.paths.through(function).code.is_generator:
            return False  # a generator does not run where it is called
        given = [each for each in arguments(call) if self.leads_to(each, read, definition)]
        taking = [p for p in parameters(function) if any(each in self.graph.values.get(p, ()) for each in given)]  # type: ignore[arg-type]
        return any(self.frees_parameter(function, each, depth) for each in taking)

    def frees_parameter(self, function: ast.AST, parameter: ast.arg, depth: int) -> bool:
        """Whether each way through a function frees the graph of what a parameter is given."""
        asked = function, parameter, depth
        if asked not in self._freeing:
            self._freeing[asked] = self._frees_parameter(function, parameter, depth)
        return self._freeing[asked]

    def _frees_parameter(self, function: ast.AST, parameter: ast.arg, depth: int) -> bool:
        ways = self.flow.paths.through(function)
        read = ast.Name(parameter.arg, ast.Load())
        calls = (each for each in ways.code.instructions() if isinstance(each, Call) and isinstance(each.node, ast.Call))
        stops = [each for each in calls if self.surely_frees(each.node, read, parameter, depth)]  # type: ignore[arg-type]
        ends = [block.instructions[-1] for block in ways.code.blocks if isinstance(block.instructions[-1], Return)]
        return bool(stops) and not any(arriving(ways, self.flow.paths.of(parameter), stops, ends))

    def leads_to(self, root: ast.expr, read: ast.expr, definition: Place | None) -> bool:
        """Whether the graph below `root` holds what `read` means by this definition."""
        if definition is not None:
            return definition in self.below(root)
        if ast.dump(root) == ast.dump(read):
            return self.names(root) == self.names(read)
        if isinstance(root, (ast.BinOp, ast.Call)):
            return any(self.leads_to(part, read, None) for part in children(root) if isinstance(part, ast.expr))
        return isinstance(root, ast.Attribute) and self.leads_to(root.value, read, None)

    def below(self, root: Place) -> set[Place]:
        """Every place of which the value at `root` may be made; the last answers are kept."""
        found = self._below.pop(root, None)
        if found is None:
            found = self.graph.below(root)
        self._below[root] = found
        while len(self._below) > MOST_KEPT:
            del self._below[next(iter(self._below))]
        return found

    def names(self, expression: ast.expr) -> list[set[Place]]:
        """What each name of an expression may mean."""
        return [set(self.graph.values.get(part, ())) for part in subtree(expression) if isinstance(part, ast.Name)]

    def is_data_of(self, call: ast.Call, definition: Place | None) -> bool:
        """Whether what a call goes backward over is only computed from the definition, by calls, and has it as no term."""
        if definition is None:
            return False
        roots = [*arguments(call), *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        return not any(definition in self.terms(root) for root in roots)

    def terms(self, root: ast.expr) -> set[Place]:
        """What a value is the sum, product, mean or another name of."""
        seen: set[Place] = {root}
        pending: list[Place] = [root]
        while pending:
            place = pending.pop()
            parts: list[Place] = list(self.graph.values.get(place, ()))
            if isinstance(place, (ast.BinOp, ast.UnaryOp)):
                parts += [part for part in children(place) if isinstance(part, ast.expr)]
            elif isinstance(place, ast.AugAssign):
                parts += [*self.graph.made_of.get(place, ())]
            elif isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute):
                parts.append(place.func.value)
            for part in parts:
                if part not in seen:
                    seen.add(part)
                    pending.append(part)
        return seen


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False

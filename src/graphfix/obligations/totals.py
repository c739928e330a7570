"""How a total is computed: what makes its last bits, or its range, matter, where a Python number has more of both than a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Old, Place
from graphfix.lazy_dataclass import dataclass


@dataclass(eq=False)
class Totals:
    """Asks the flow of one file."""

    flow: Flow

    def cancels(self, site: ast.AST) -> bool:
        """Whether a sum may be a difference: one of its sides is a negative number, or is negated."""
        return any(self.is_negated(side, set()) for side in operands(site))

    def is_negated(self, side: Place, asked: set[Place]) -> bool:
        """Whether a value may be negative by how it is written. A graph is what is added up: of a sum of losses none is taken away."""
        for source in self.flow.graph.sources(side):
            if source in asked:
                continue
            asked.add(source)
            if isinstance(source, ast.UnaryOp) and isinstance(source.op, ast.USub) and source not in self.flow.carrying:
                return True
            if isinstance(source, ast.BinOp) and isinstance(source.op, ast.Sub) and source not in self.flow.carrying:
                return True
            scaled = isinstance(source, ast.BinOp) and isinstance(source.op, (ast.Mult, ast.Div))
            if scaled and any(self.is_negated(each, asked) for each in operands(source)):
                return True
        return False

    def is_running_product(self, site: ast.AST) -> bool:
        """Whether a product is made of itself, over and over: it leaves the range of 32 bits long before that of 64."""
        if isinstance(site, ast.AugAssign):
            return self.is_repeated(site)
        seen: set[Place] = set()
        pending = list(operands(site))
        while pending:
            for source in self.flow.graph.sources(pending.pop()):
                if source is site:
                    return True
                if source not in seen and isinstance(source, ast.BinOp) and isinstance(source.op, (ast.Mult, ast.Div)):
                    seen.add(source)
                    pending.extend(operands(source))
        return False

    def is_repeated(self, changed: ast.AugAssign) -> bool:
        """Whether nothing but factors goes into the target of an augmented assignment between two runs of it."""
        seen: set[Place] = set()
        pending: list[Place] = [Old(changed)]
        while pending:
            place = pending.pop()
            if place is changed:
                return True
            if place in seen or isinstance(place, ast.AugAssign) and not isinstance(place.op, (ast.Mult, ast.Div)):
                continue
            seen.add(place)
            pending.extend(self.flow.graph.brought(place))
        return False


def operands(site: ast.AST) -> Iterator[Place]:
    """The two sides of arithmetic."""
    if isinstance(site, ast.BinOp):
        yield from (site.left, site.right)
    elif isinstance(site, ast.AugAssign):
        yield from (Old(site), site.value)

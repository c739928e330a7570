"""Whether what went to code out of sight before a walk may come back from there, to be walked once more."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property

from graphfix.analysis.flow.calls import name_of
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Inquiry


class Returning(Inquiry):
    """Asks the flow of one file."""

    def may_come_back(self, walk: ast.Call, comes_before: Callable[[ast.AST, ast.Call], bool]) -> bool:
        """Whether another walk, which does not come before `walk`, begins at what code out of sight has given."""
        return any(each is not walk and not comes_before(each, walk) for each in self.of_others)

    @cached_property
    def of_others(self) -> list[ast.Call]:
        """The walks that begin at a value of which nothing is known but that other code has made it, or has it: `(await promise).backward()`."""
        walks = (call for call in self.flow.code.calls if name_of(call.func) in WALKS)
        return [each for each in walks if any(source in self.graph.opaque for root in roots(each) for source in self.graph.sources(root))]


def roots(walk: ast.Call) -> list[ast.expr]:
    """Where a walk begins: what its method is called on, and what it is given first."""
    return [*([walk.func.value] if isinstance(walk.func, ast.Attribute) else []), *walk.args[:1]]

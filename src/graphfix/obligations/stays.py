"""Whether nothing of what a part of a function records leaves that function: then it does not matter who calls it."""

from __future__ import annotations

import ast
from collections.abc import Collection

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Old, Place, Result
from graphfix.model import Decorate, Wrap
from graphfix.obligations.inquiry import Inquiry
from graphfix.obligations.unrecorded import COMPUTES, LOOPS
from graphfix.source.subtree import subtree


class Stays(Inquiry):
    """Asks the flow of one file."""

    def stays(self, operation: Wrap | Decorate) -> bool:
        """Whether callers that are not in sight get no graph from what stops to record, and nothing of theirs runs in it."""
        parts = self.repaired(operation)
        function = self.evidence.program.enclosing(parts[0], FUNCTIONS[:2]) if isinstance(operation, Wrap) and parts else next(iter(parts), None)
        if function is None:
            return False
        entered = dict.fromkeys(code for part in parts for code in self.flow.reached_anyhow(part))
        if any(map(self.runs_items, parts)) or any(map(self.puts_away, {*entered, *parts})):
            return False
        if any(self.may_be_another(code) for code in entered if code is not function):
            return False
        inner = {part for code in (function, *entered) for part in subtree(code)}
        made = [part for each in parts for part in subtree(each) if isinstance(part, COMPUTES)]
        starts = [part for part in made if part in self.flow.carrying and not self.flow.is_graphless(part)]
        returned = {code for code in entered if code is not function}
        return all(self.is_inside(place, inner, returned) for place, _ in self.graph.reach(starts).places)

    def repaired(self, operation: Wrap | Decorate) -> list[ast.stmt]:
        """The statements that are wrapped, or the function that is decorated; nothing where one of them is not in sight."""
        kinds = FUNCTIONS[:2] if isinstance(operation, Decorate) else (ast.stmt,)
        spans = [operation.span] if isinstance(operation, Decorate) else operation.spans
        lying = [next((part for part in self.evidence.program.lying_at(span) if isinstance(part, kinds)), None) for span in spans]
        found = [part for part in lying if isinstance(part, ast.stmt)]
        return found if len(found) == len(lying) else []

    def is_inside(self, place: Place, inner: Collection[ast.AST], returned: Collection[ast.AST]) -> bool:
        """Whether a place is a part of the function, or of what it enters."""
        if isinstance(place, Result):
            return place.function in returned
        site = place.statement if isinstance(place, Old) else place
        return isinstance(site, ast.AST) and site in inner

    def runs_items(self, function: ast.AST) -> bool:
        """Whether items are taken out of what a caller may give: a generator of its own runs with each of them."""
        loops = (part for part in subtree(function) if isinstance(part, (*LOOPS[:2], ast.comprehension)))
        counted = (isinstance(loop.iter, ast.Call) and self.flow.code.calls.get(loop.iter) == "range" for loop in loops)
        return not all(counted) or any(isinstance(part, ast.Call) and name_of(part.func) == "next" for part in subtree(function))

    def may_be_another(self, code: ast.AST) -> bool:
        """Whether a method may be that of a class in a file that is not in sight."""
        if code not in self.flow.code.class_of:
            return False
        name = getattr(code, "name", "")
        others = (document for document in self.evidence.importers_naming(name) if document.tree not in self.flow.code.documents)
        classes = (part for document in others for part in subtree(document.tree) if isinstance(part, ast.ClassDef))
        return not self.evidence.knows_importers or any(getattr(part, "name", "") == name for cls in classes for part in cls.body)

    def puts_away(self, code: ast.AST) -> bool:
        """Whether a piece of code puts what may have a graph into an attribute, or into a container."""
        recorded = self.flow.recorded_of_leaves
        for part in subtree(code):
            if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store) and part in recorded:
                return True
            if isinstance(part, ast.Call) and (library.fills(name := name_of(part.func)) or name in ("setattr", "__setattr__")):
                return True
        return False

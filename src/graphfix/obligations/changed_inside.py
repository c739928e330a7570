"""What the body of a loop changes of what a statement reads that moves into it: each iteration would find something else."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Place
from graphfix.effects.methods import rows_of_method
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.models.words import WALKS
from graphfix.obligations.inquiry import Inquiry, Open
from graphfix.source.subtree import subtree

SETTERS = ("setattr", "object.__setattr__")
# which change gradients alone
OF_GRADIENTS = (*WALKS, "zero_grad", "clip_grad_norm_", "clip_grad_value_")


class ChangedInside(Inquiry):
    """Asks about the body of a loop."""

    def changed(self, moved: Iterable[ast.stmt], body: Iterable[ast.stmt]) -> Iterator[Open]:
        """The places in a loop's body, or in code that it enters, that may change what is read. A name that the body binds is no matter here."""
        read = [part for statement in moved for code in self.flow.reached(statement) for part in subtree(code) if is_read(part)]
        names = {part.id for part in read if isinstance(part, ast.Name)}
        attributes = {part.attr for part in read if isinstance(part, ast.Attribute)}
        objects = {source for part in read for source in self.graph.sources(part)}
        for code in dict.fromkeys(code for statement in body for code in self.flow.reached(statement)):
            for part in subtree(code):
                if binds(part, names, attributes) or self.writes(part, attributes, objects):
                    yield Open(part, "may change, in the loop, what the moved statement reads")

    def writes(self, part: ast.AST, attributes: set[str], objects: set[Place]) -> bool:
        """Whether a part of code writes to one of these objects, or to an attribute of one of these names by a call."""
        if isinstance(part, ast.Subscript):
            return not isinstance(part.ctx, ast.Load) and self.is_one_of(part.value, objects)
        if not isinstance(part, ast.Call) or name_of(part.func) in OF_GRADIENTS:
            return False
        dotted = self.flow.code.calls.get(part, "")
        if dotted in SETTERS:
            key = part.args[1] if len(part.args) > 1 else None
            return not isinstance(key, ast.Constant) or key.value in attributes
        if dotted:
            return writes_to_given(dotted) and any(self.is_one_of(each, objects) for each in arguments(part))
        if not isinstance(part.func, ast.Attribute) or part in self.flow.calls.targets and part not in self.flow.calls.opaque:
            return False
        rows = rows_of_method(part.func.attr)
        # of an unknown name, what was put there may be called, such as a layer: no method of the object
        may_write = any(row.writes for row in rows) if rows else self.graph.sources(part.func) == (part.func,)
        return may_write and self.is_one_of(part.func.value, objects)

    def is_one_of(self, place: ast.expr, objects: set[Place]) -> bool:
        return not objects.isdisjoint(self.graph.sources(place))


def is_read(part: ast.AST) -> bool:
    return isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load)


def binds(part: ast.AST, names: set[str], attributes: set[str]) -> bool:
    """Whether a part of code binds an attribute of one of these names anew, or a function binds such a name of its surroundings."""
    if isinstance(part, ast.Attribute):
        return not isinstance(part.ctx, ast.Load) and part.attr in attributes
    return isinstance(part, (ast.Global, ast.Nonlocal)) and not names.isdisjoint(part.names)


def writes_to_given(dotted: str) -> bool:
    """Whether a function of a library writes to what it is given."""
    row, known = row_of(dotted), facts(dotted)
    return row is not None and row.writes or known is not None and (known.inplace or known.mutates)

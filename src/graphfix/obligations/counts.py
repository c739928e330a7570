"""How often a loop runs: whether there may be nothing to loop over.

Data has items: that a batch, or a sequence, is empty is no way in which a program works. What a program is told to build (a number of layers)
may be none.
"""

from __future__ import annotations

import ast
from functools import cached_property

from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.places import Field, Place
from graphfix.obligations.divisors import SIZES
from graphfix.obligations.inquiry import Inquiry
from graphfix.source.spelling import word

# what hands on the items of what it is given
HANDS_ON = frozenset(("enumerate", "zip", "reversed", "list", "tuple", "sorted", "iter"))
LISTS = frozenset(("ModuleList", "ParameterList", "ModuleDict", "ParameterDict", "Sequential"))
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


class Counts(Inquiry):
    """Asks the flow of one file."""

    def may_be_none(self, items: ast.expr) -> ast.expr | None:
        """The number, or the container, of which the program does not say that it is more than nothing; None where there surely is something."""
        for source in self.graph.sources(items):
            found = self.nothing_in(source)
            if found is not None:
                return found
        return None

    def nothing_in(self, source: Place, depth: int = 6) -> ast.expr | None:
        """The same for one source of what is looped over."""
        if not depth or not isinstance(source, ast.expr):
            return None
        if isinstance(source, COMPREHENSIONS):
            return next((found for each in source.generators if (found := self.of(each.iter, depth - 1)) is not None), None)
        if not isinstance(source, ast.Call):
            return None
        dotted = self.flow.code.calls.get(source, "")
        if dotted == "range":
            bounds = source.args[:2]  # where it begins, if that is said, and where it ends
            return bounds[-1] if bounds and not self.is_positive(bounds[-1]) else None
        if dotted in HANDS_ON or word(source.func) in LISTS and dotted.startswith("torch."):
            return next((found for each in source.args if (found := self.of(each, depth - 1)) is not None), None)
        return None

    def of(self, items: ast.expr, depth: int) -> ast.expr | None:
        value = items.value if isinstance(items, ast.Starred) else items
        return next((found for each in self.graph.sources(value) if (found := self.nothing_in(each, depth)) is not None), None)

    def is_positive(self, number: ast.expr) -> bool:
        """Whether a number is surely more than zero, or counts data."""
        sources = self.graph.sources(number)
        return bool(sources) and all(map(self.is_more_than_zero, sources))

    @true_of_itself
    def is_more_than_zero(self, source: Place) -> bool:
        if isinstance(source, ast.Constant):
            return isinstance(source.value, (int, float)) and source.value > 0
        if isinstance(source, ast.BinOp):
            return self.is_positive(source.left) and self.is_positive(source.right)
        if isinstance(source, ast.Call):
            return self.counts_data(source)
        if isinstance(source, ast.Subscript):
            return isinstance(source.value, ast.Attribute) and source.value.attr == "shape"
        return isinstance(source, Field) and self.is_option(source.name)

    def counts_data(self, call: ast.Call) -> bool:
        """Whether a call gives the size of something, or a number that is as surely more than zero: `len(batch)`, `x.size(1)`, `int(2)`."""
        name = self.flow.code.calls.get(call, "")
        if name in ("max", "min", "int", "abs"):
            return bool(call.args) and all(map(self.is_positive, call.args))
        return name == "len" or not name and word(call.func) in SIZES

    def is_option(self, name: str) -> bool:
        """Whether an attribute of this name is an option of the command line whose default is more than zero."""
        defaults = [default for option, default in self.options if option == name]
        return bool(defaults) and all(isinstance(each, ast.Constant) and self.is_more_than_zero(each) for each in defaults)

    @cached_property
    def options(self) -> list[tuple[str, ast.expr | None]]:
        """The options that the code declares, by the names of their attributes, each with its default."""
        found: list[tuple[str, ast.expr | None]] = []
        for call in self.flow.code.calls:
            if word(call.func) == "add_argument":
                names = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
                default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
                named = next((str(k.value.value) for k in call.keywords if k.arg == "dest" and isinstance(k.value, ast.Constant)), "")
                long = next((name for name in names if name.startswith("--")), names[0] if names else "")
                found.append((named or long.lstrip("-").replace("-", "_"), default))
        return found

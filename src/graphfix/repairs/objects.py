"""What a program sees of the object itself that a cut replaces: attributes that it gave it, how long it lives, its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphfix.analysis.flow import library
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import ITSELF, Field, Place, Sink, Use
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.repairs.inquiry import Open
from graphfix.repairs.numbers import is_shown, spells_out

# what tells when an object dies, or who holds it: https://docs.python.org/3/library/weakref.html
LIVES = ("weakref.", "gc.get_", "sys.getrefcount")
# a replacement field that reads attributes: https://docs.python.org/3/library/string.html#format-string-syntax
READS_ATTRIBUTE = re.compile(r"\{[^{}!:]*\.")


@dataclass(frozen=True)
class Objects:
    """Asks the flow of one file."""

    flow: Flow

    def told_apart(self, expression: ast.expr) -> Iterator[Open]:
        """The places that may tell the value of `expression` from a new tensor with the same numbers."""
        for call, dotted in self.flow.code.calls.items():
            if dotted.startswith(LIVES):
                yield Open(call, "sees how long tensors live")
            elif dotted == "operator.attrgetter" and not all(self.is_harmless(each) for each in call.args):
                yield Open(call, "may ask for its graph")
        itself = self.flow.graph.reach([expression], made=False)
        yield from (
            Open(arrival.site, "looks for the very object") for arrival in itself.of(Sink.ASKED) if is_identity(arrival.site)
        )
        for place, part in itself.places:
            for use in self.flow.graph.uses.get(place, ()):
                if part is ITSELF and self.reads_own(use):
                    yield Open(use.site, "reads an attribute that a new tensor does not have")
                elif part is ITSELF and is_key(use, place):
                    yield Open(use.site, "looks for the very object")
                elif spells_out(use) and not is_shown(self.flow, use.site):
                    yield Open(use.site, "keeps its text, which tells of its graph")
                elif use.how == "argument" and use.name in ("format", "format_map", "vformat") and self.asks_in_text(use):
                    yield Open(use.site, "may read its attributes")

        for place in self.flow.graph.reach([expression]).places:
            for use in self.flow.graph.uses.get(place[0], ()):
                refuses = use.how == "argument" and (use.name == "copy.deepcopy" or use.name.startswith("numpy."))
                if refuses and swallowed(self.flow, use.site):
                    yield Open(use.site, "refuses to copy what has a graph")

    def is_harmless(self, name: ast.expr) -> bool:
        return isinstance(name, ast.Constant) and isinstance(name.value, str) and not set(name.value.split(".")) & library.ASKS

    def reads_own(self, use: Use) -> bool:
        """Whether an attribute is read that the code itself gives to objects."""
        if use.how == "argument":
            return use.name == "vars"
        return use.how == "attribute" and Field(use.name) in self.flow.graph.values and not library.is_tensor_method(use.name)

    def asks_in_text(self, use: Use) -> bool:
        """Whether a template is not known, or reads attributes."""
        function = use.site.func if isinstance(use.site, ast.Call) else None
        if not isinstance(function, ast.Attribute):
            return False
        for source in self.flow.graph.sources(function.value):
            if not isinstance(source, ast.Constant) or READS_ATTRIBUTE.search(str(source.value)):
                return True
        return False


def is_identity(site: ast.AST) -> bool:
    """Whether two objects are compared by `is`."""
    return isinstance(site, ast.Compare) and any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in site.ops)


def is_key(use: Use, place: Place) -> bool:
    """Whether the object is a key: a tensor's hash is that of its identity."""
    if use.how == "argument" and use.name in ("get", "setdefault", "pop"):
        return isinstance(use.site, ast.Call) and use.site.args[:1] == [place]
    return use.how in ("hash", "key")

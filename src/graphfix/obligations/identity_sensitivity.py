"""Whether a program observes the object that a cut replaces: the attributes it was given, its lifetime."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import name_of
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import FUNCTIONS, arguments
from graphfix.analysis.flow.places import ITSELF, Field, Place, Reach, Sink, Use
from graphfix.effects.methods import observes_graph
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Returns, Row
from graphfix.lazy_dataclass import dataclass
from graphfix.obligations.inquiry import Open
from graphfix.obligations.refused import refused
from graphfix.obligations.texts import texts_of
from graphfix.obligations.warned import warned
from graphfix.source.subtree import subtree

FORMATS = ("format", "format_map", "vformat")
ORDERING = frozenset(("max", "min", "sorted"))
# a replacement field that reads attributes: https://docs.python.org/3/library/string.html#format-string-syntax
READS_ATTRIBUTE = re.compile(r"\{[^{}!:]*\.")

@dataclass(eq=False)
class Objects:
    """Asks the flow of one file."""

    flow: Flow

    def told_apart(self, expression: ast.expr) -> Iterator[Open]:
        """The places that may tell the value of `expression` from a new tensor with the same numbers."""
        for call, dotted in self.flow.code.calls.items():
            row = row_of(dotted)
            if row is not None and row.observes is Observes.LIFE:
                yield Open(call, "observes when a tensor is freed")
            elif row is not None and row.observes is Observes.IDENTITY or any(map(tells_apart, arguments(call))):
                yield Open(call, "compares it by identity")
            elif dotted == "operator.attrgetter" and not all(self.is_harmless(each) for each in call.args):
                yield Open(call, "may read its graph")
        yield from (Open(template, "reads its graph") for template in self.asking)
        yield from self.freed_with_graphs()
        yield from self.compared(expression)
        itself = self.flow.graph.reach([expression], made=False)
        for place, part in self.flow.graph.reach(self.flow.graph.sources(expression), made=False).places if self.moved else ():
            if part is ITSELF and isinstance(place, ast.AST) and place in self.moved:
                yield Open(place, "is given other memory")
        for place, part in itself.places:
            for use in self.flow.graph.uses.get(place, ()):
                if part is ITSELF and self.reads_own(use):
                    yield Open(use.site, "may read an attribute that the new tensor does not have")
                elif part is ITSELF and is_key(use, place):
                    yield Open(use.site, "may use it as a key, which is found by identity")
                elif part is not ITSELF and compares_items(use, place):
                    yield Open(use.site, "may compare containers that hold it, first by identity")
        reach = self.flow.graph.reach([expression])
        yield from self.saved_flags(reach)
        yield from warned(self.flow, reach)
        yield from refused(self.flow, reach)
        for place, _ in reach.places:
            for use in self.flow.graph.uses.get(place, ()):
                if use.how == "argument" and use.name in FORMATS and self.asks_in_text(use):
                    yield Open(use.site, "may read its attributes")

    def compared(self, expression: Place) -> Iterator[Open]:
        """The places that may tell the object itself from another one that holds the same."""
        arrivals = self.flow.graph.reach([expression], made=False).of(Sink.ASKED)
        yield from (Open(arrival.site, "compares it by identity") for arrival in arrivals if is_identity(arrival.site))

    def freed_with_graphs(self) -> Iterator[Open]:
        """The finalizers of objects that a graph may hold, in the context of an operation or in a hook: they run when it is freed."""
        for method in self.flow.code.methods.get("__del__", ()):
            cls = self.flow.code.class_of[method]
            made = [call for call in self.flow.code.calls if cls in self.flow.graph.sources(call.func)]
            places = self.flow.graph.reach(made).places if made else ()
            if any(self.is_in_graph(place) for place, _ in places):
                yield Open(method, "observes when a graph is freed")

    def is_in_graph(self, place: Place) -> bool:
        """Whether a graph holds what is at a place: an operation of the program has it, or a hook, or the function that one calls."""
        if any(use.how == "argument" and use.name.endswith("_hook") for use in self.flow.graph.uses.get(place, ())):
            return True
        around = list(self.flow.paths.around(place)) if isinstance(place, ast.AST) and place in self.flow.paths.parents else []
        classes = (cls for each in around if (cls := self.flow.code.class_of.get(each)) is not None)
        return not self.hooks.isdisjoint(around) or any(self.flow.code.lookup.derives(cls, "Function") for cls in classes)

    @cached_property
    def hooks(self) -> set[Place]:
        """The functions in sight that are handed on as hooks."""
        given = (each for call in self.flow.code.calls if name_of(call.func).endswith("_hook") for each in arguments(call))
        return {source for each in given for source in self.flow.graph.sources(each) if isinstance(source, FUNCTIONS)}

    def saved_flags(self, reach: Reach) -> Iterator[Open]:
        """The places that write a value down with the flag requires_grad, which survives where its graph does not, for code that reads it."""
        for place, _ in reach.places:
            for use in self.flow.graph.uses.get(place, ()):
                rows = rows_used(use)
                if any(row.pickles and (self.is_read_back or row.returns is Returns.TEXT) for row in rows):
                    yield Open(use.site, "saves whether it requires a gradient")

    @cached_property
    def is_read_back(self) -> bool:
        """Whether the code reads what it has written down, as an object or as bytes in memory."""
        calls = self.flow.code.calls.values()
        in_bytes = any(map(reads_bytes, self.flow.code.calls))
        return in_bytes or any(row.unpickles for row in map(row_of, calls) if row is not None)

    @cached_property
    def asking(self) -> list[ast.Constant]:
        """The texts with a replacement field that asks for a graph: `"{0.loss.grad_fn}"`."""
        trees = (document.tree for document in self.flow.code.documents.values())
        constants = (part for tree in trees for part in subtree(tree) if isinstance(part, ast.Constant))
        return [each for each in constants if isinstance(each.value, str) and asks_in_text(each.value)]

    @cached_property
    def moved(self) -> set[Place]:
        """What `.data` is assigned to: it has other memory from then on, which a tensor that was detached before does not see."""
        found: set[Place] = set()
        for document in self.flow.code.documents.values():
            for part in subtree(document.tree) if "data" in document.words else ():
                if isinstance(part, ast.Attribute) and part.attr == "data" and isinstance(part.ctx, ast.Store):
                    found.add(part.value)
        sets = (call.args for call, dotted in self.flow.code.calls.items() if dotted == "setattr" and len(call.args) == 3)
        found.update(of for of, name, _ in sets if not (isinstance(name, ast.Constant) and name.value != "data"))
        return found

    def is_harmless(self, name: ast.expr) -> bool:
        return isinstance(name, ast.Constant) and isinstance(name.value, str) and not any(map(observes_graph, name.value.split(".")))

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
        texts = texts_of(self.flow, function.value)
        return texts is None or any(READS_ATTRIBUTE.search(text) for text in texts)


def reads_bytes(call: ast.Call) -> bool:
    """Whether a call reads the bytes of a file: `open(path, "rb")`, `path.read_bytes()`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [each.value for each in arguments(call) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name == "read_bytes" or name == "open" and any(set(mode) <= set("rb+") and "b" in mode for mode in modes)


def rows_used(use: Use) -> tuple[Row, ...]:
    """The rows of the function, or of the methods of this name, that a value is given to."""
    return library.rows_named(use.name) if use.how in ("argument", "handed") else ()


def asks_in_text(text: str) -> bool:
    """Whether a replacement field of a template asks for a graph."""
    return READS_ATTRIBUTE.search(text) is not None and any(map(observes_graph, re.findall(r"\.(\w+)", text)))


def is_identity(site: ast.AST) -> bool:
    """Whether two objects are compared by `is`, or an object is asked for what identifies it."""
    if isinstance(site, ast.Call):
        return tells_apart(site.func)
    return isinstance(site, ast.Compare) and any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in site.ops)


def tells_apart(function: ast.expr) -> bool:
    """Whether a function is handed on that goes by the identity of what it gets: `key=id`, `map(operator.is_, a, b)`."""
    if isinstance(function, ast.Attribute):
        return function.attr in ("is_", "is_not")
    return isinstance(function, ast.Name) and function.id == "id"


def compares_items(use: Use, holder: Place) -> bool:
    """Whether what holds it is compared with what may hold it, too: the same object is not compared further.

    https://docs.python.org/3/reference/expressions.html#value-comparisons
    """
    site = use.site
    if use.how == "argument" and isinstance(site, ast.Call):
        if any(keyword.arg == "key" for keyword in site.keywords):
            return False
        pairs = use.name in ORDERING and isinstance(holder, ast.Tuple)
        return pairs or use.name.startswith(("heapq.", "bisect.")) or use.name.endswith("Counter")
    if use.how != "comparison" or not isinstance(site, ast.Compare):
        return False
    if all(isinstance(op, (ast.In, ast.NotIn)) for op in site.ops) and holder is not site.left:
        return False  # of a dict, keys are compared; of a list, what is looked for has to hold it, too
    others = [side for side in (site.left, *site.comparators) if side is not holder]
    return not all(map(is_spelled_out, others))


def is_spelled_out(value: ast.expr) -> bool:
    """Whether a value holds constants alone, or nothing."""
    if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        return all(map(is_spelled_out, value.elts))
    return isinstance(value, ast.Constant) or isinstance(value, ast.Dict) and not value.keys


def is_key(use: Use, place: Place) -> bool:
    """Whether the object is a key: a tensor's hash is that of its identity."""
    if use.how == "argument" and use.name in ("get", "setdefault", "pop"):
        return isinstance(use.site, ast.Call) and use.site.args[:1] == [place]
    return use.how in ("hash", "key")

"""The flow of a file and what it imports, and what it is asked."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import Calls, name_of
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.freed import Freed
from graphfix.analysis.flow.functions import parameters
from graphfix.analysis.flow.graph import TooManyEdges
from graphfix.analysis.flow.paths import Paths
from graphfix.analysis.flow.places import Cell, Field, Place, Result, Sink
from graphfix.analysis.flow.runners import computed_names, runners, starts_of_itself
from graphfix.analysis.flow.sight import Find, Sight
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.models.words import WALKED_BY_TRAINER
from graphfix.source.document import Document
from graphfix.source.subtree import subtree

Offers = Mapping[Document, Collection[ast.AST]]
NO_OFFERS: Offers = MappingProxyType({})
SIZED = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)
NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)


class Flow:
    """The flow graph of a document, and the code that it was made from.

    `is_cut`: the calls of the code lead to more places than are linked, so that it proves nothing.
    """

    def __init__(self, code: Sight, calls: Calls, is_cut: bool = False) -> None:
        self.is_cut = is_cut
        self.graph = code.flow
        self.code = code
        self.calls = calls
        self._reached: dict[ast.AST, Collection[ast.AST]] = {}
        self._entered: dict[ast.AST, Collection[ast.AST]] = {}
        # functions of which nothing swallows what they raise, by what was asked
        self.unswallowed: dict[tuple[bool, str], set[ast.AST]] = {}

    def let_go(self) -> None:
        """End it: its parts hold one another, and go now instead of when Python's collector finds them."""
        pending: list[object] = [self]
        for part in pending:  # it grows while it is read
            held = [each for each in vars(part).values() if type(each).__module__.startswith(__package__)]
            vars(part).clear()
            pending += [each for each in held if hasattr(each, "__dict__")]

    @cached_property
    def paths(self) -> Paths:
        """The ways through its code."""
        return Paths(self)

    @cached_property
    def freed(self) -> Freed:
        """What is surely freed where."""
        return Freed(self)

    @cached_property
    def runners(self) -> tuple[ast.AST, ...]:
        """The calls that run code of the program, and keep what it raises."""
        return tuple(runners(self))

    @cached_property
    def own_starts(self) -> tuple[ast.Call, ...]:
        """The calls that start a process which runs the program itself."""
        return tuple(starts_of_itself(self))

    @cached_property
    def called_by_name(self) -> tuple[ast.Call, ...]:
        """The calls of what is taken by a name that is put together."""
        return tuple(computed_names(self))

    @cached_property
    def carrying(self) -> set[Place]:
        """The places to which a graph may get: everything that may be made of parameters, or of what is not in sight."""
        asked = (source for value in self.code.asked for source in self.graph.sources(value))
        return self.graph.spread([*self.calls.recording, *self.graph.opaque, *self.leaves, *asked])

    @cached_property
    def leaves(self) -> list[Place]:
        """The calls that make, or give, leaf tensors that need a gradient, and what `requires_grad_()` makes one."""
        begin: list[Place] = []
        for call, dotted in self.code.calls.items():
            asks = any(keyword.arg == "requires_grad" for keyword in call.keywords)
            if asks or dotted.endswith("Parameter") or name_of(call.func) in ("requires_grad_", "parameters", "named_parameters"):
                begin.append(call)
                leaf = isinstance(call.func, ast.Attribute) and not dotted and call.func.attr == "requires_grad_"
                begin.extend(self.graph.sources(call.func.value) if leaf else ())  # type: ignore[attr-defined]
        return begin

    def pulled(self, items: ast.expr) -> Iterator[ast.Call]:
        """The calls that code in sight makes while items are taken out of an iterable."""
        for code in self.run_by(items):
            yield from (part for part in subtree(code) if isinstance(part, ast.Call))

    def run_by(self, items: ast.expr) -> Iterable[ast.AST]:
        """The code in sight that runs while items are taken out of an iterable."""
        begin: list[ast.AST] = [items]
        for source in self.graph.sources(items):
            if isinstance(source, Result):
                begin.append(source.function)
            elif isinstance(source, ast.AST):
                begin.append(source)
        return dict.fromkeys(code for each in begin for code in self.reached(each))

    def is_carried(self, name: ast.Name) -> bool:
        """Whether what is assigned to a name may be read in a later iteration, or by another function."""
        pending: list[Place] = [name]
        for place in pending:
            for edge in self.graph.edges.get(place, ()):
                if isinstance(edge.target, Cell):
                    pending.extend([edge.target] if edge.target not in pending else [])
                elif isinstance(edge.target, ast.Name) and edge.target.id == name.id and edge.crosses:
                    return True
        return False

    @cached_property
    def recorded(self) -> set[Place]:
        """The places to which what a module, or other code of a library, has recorded may get."""
        return self.graph.spread(self.calls.recording)

    @cached_property
    def recorded_of_leaves(self) -> set[Place]:
        """The places to which that may get, and what code in sight records of leaf tensors."""
        return self.recorded | self.graph.spread(self.leaves)

    def computations_below(self, root: Place, without: Collection[Place] = ()) -> list[ast.expr]:
        """The computations of which the graph of the value at `root` may be made, in the order of the code.

        `without`: places through which nothing is followed.
        """
        below = self.below(root, without)
        made = [place for place in below if isinstance(place, (ast.Call, ast.BinOp, ast.UnaryOp)) and self.computes(place)]
        return sorted(made, key=lambda each: (each.lineno, each.col_offset))

    def given_below(self, root: Place, without: Collection[Place] = ()) -> list[ast.arg]:
        """The parameters through which code that is not in sight may give a part of the graph of the value at `root`."""
        return self._givers(self.below(root, without), without)

    def is_given(self, root: Place) -> bool:
        """Whether code that is not in sight may give the very value at `root`, or a container that it is taken out of."""
        return bool(self.givers(root))

    def givers(self, root: Place) -> list[ast.arg]:
        """The parameters through which code that is not in sight may give the very value at `root`, or a container of it."""
        return self._givers([root], ())

    def _givers(self, places: list[Place], without: Collection[Place]) -> list[ast.arg]:
        """The open parameters that bring the objects at `places`, or containers that those are taken out of, in the order of the code."""
        given = [place for place in self._ways(places, without) if isinstance(place, ast.arg) and place in self.graph.opaque]
        return sorted(given, key=lambda each: (each.lineno, each.col_offset))

    def returned_by(self, root: Place) -> list[ast.AST]:
        """The functions that return the value at `root`, or a container that it is taken out of, on its way there."""
        return [place.function for place in self._ways([root]) if isinstance(place, Result)]

    def _ways(self, places: list[Place], without: Collection[Place] = ()) -> dict[Place, None]:
        """All places by which the objects at `places`, or containers that those are taken out of, get there."""
        seen: dict[Place, None] = {}
        pending = list(places)
        while pending:
            place = pending.pop()
            if place not in seen and place not in without:
                seen[place] = None
                pending.extend((*self.graph.brought(place), *self.graph.taken_from.get(place, ())))
        return seen

    def has_length(self, root: Place) -> bool:
        """Whether every object that may be at `root` knows how many items it has: a list or a tensor, and no generator."""
        sources = self.graph.sources(root)
        return bool(sources) and all(self.is_sized(source) for source in sources)

    @true_of_itself
    def is_sized(self, source: Place) -> bool:
        if isinstance(source, ast.BinOp):
            return self.has_length(source.left) and self.has_length(source.right)
        if not isinstance(source, ast.Call):
            return isinstance(source, SIZED)
        dotted = self.code.calls.get(source, "")
        if isinstance(source.func, ast.Attribute) and not dotted and source not in self.calls.targets:
            return facts(f"torch.Tensor.{source.func.attr}") is not None
        row = row_of(dotted)
        return row is not None and row.sized or dotted.startswith("torch.") and facts(dotted) is not None

    def below(self, root: Place, without: Collection[Place]) -> list[Place]:
        """The places from which graph may get into the value at `root`."""
        seen: set[Place] = {root}
        pending: list[Place] = [root]
        found: list[Place] = []
        known: set[Place] = set()
        while pending:
            place = pending.pop()
            if place in without or place not in self.carrying:
                continue
            if isinstance(place, (ast.Call, ast.BinOp, ast.UnaryOp)) and self.is_graphless(place):
                held = [source for source in self.graph.contents_of(place, known) if source not in seen]
                pending.extend(held)
                seen.update(held)
                continue
            if isinstance(place, ast.Name) and self.is_data(place) and place not in self.recorded:
                continue
            found.append(place)
            for source in self.graph.parts(place, known):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        return found

    def computes(self, place: Place) -> bool:
        """Whether an expression makes graph itself, and is not only what a function in sight returns."""
        return not isinstance(place, ast.Call) or place not in self.calls.targets or place in self.calls.opaque

    def is_data(self, target: ast.Name) -> bool:
        """Whether a name is bound anew by a loop over what is not in sight: data, fresh in each iteration."""
        above = self.paths.parents.get(target)
        while isinstance(above, (ast.Tuple, ast.List, ast.Starred)):
            above = self.paths.parents.get(above)
        return isinstance(above, (ast.For, ast.AsyncFor)) and isinstance(target.ctx, ast.Store)

    def is_graphless(self, node: ast.expr) -> bool:
        """Whether an expression gives what is never part of a graph: a class's object, a new tensor, a number, a tensor's `data`."""
        if isinstance(node, ast.Attribute):
            own = Field(node.attr) in self.graph.values or node.attr in self.code.methods
            return library.reads_no_graph(node.attr) and not own
        if not isinstance(node, ast.Call):
            return False
        dotted = self.code.calls.get(node, "")
        if library.gives_batches(dotted):
            return node not in self.recorded  # the data of most programs is no part of a graph
        if dotted:
            return library.gives_no_graph(dotted) or dotted.startswith("torch.") and dotted.rpartition(".")[2][:1].isupper()
        if node not in self.calls.targets and self.calls.methods.gives_no_graph(node):
            return True
        return any(isinstance(source, ast.ClassDef) for source in self.graph.sources(node.func))

    def reached(self, node: ast.AST) -> Collection[ast.AST]:
        """`node`, and every function in sight that the code in it may enter."""
        if node not in self._reached:
            seen: dict[ast.AST, None] = {node: None}
            pending = [node]
            while pending:
                new = [function for function in self.entered_from(pending.pop()) if function not in seen]
                seen.update(dict.fromkeys(new))
                pending.extend(new)
            self._reached[node] = seen.keys()
        return self._reached[node]

    def led_to(self, node: ast.AST) -> Collection[ast.AST]:
        """The same, but for functions that a call may enter only because nothing is known of what is called."""
        seen: dict[ast.AST, None] = {node: None}
        for code in (pending := [node]):
            calls = (part for part in subtree(code) if isinstance(part, ast.Call))
            meant = ((call, function) for call in calls for function in self.calls.targets.get(call, ()))
            new = [function for call, function in meant if (call, function) not in self.calls.guessed and function not in seen]
            seen.update(dict.fromkeys(new))
            pending.extend(dict.fromkeys(new))
        return seen.keys()

    def entered_from(self, code: ast.AST) -> Collection[ast.AST]:
        """The functions in sight that a piece of code enters itself."""
        if code not in self._entered:
            self._entered[code] = dict.fromkeys(function for part in subtree(code) for function in self.entered_at(part)).keys()
        return self._entered[code]

    def entered_at(self, part: ast.AST) -> Iterable[ast.AST]:
        """The functions in sight that a call, or the read of an attribute that may be a property, enters."""
        if isinstance(part, ast.Call):
            return self.calls.targets.get(part, ())
        if isinstance(part, ast.Attribute):
            return [method for method in self.code.methods.get(part.attr, ()) if method in self.code.properties]
        return ()

    def reached_anyhow(self, node: ast.AST) -> Collection[ast.AST]:
        """`node`, and every function in sight that it may enter, by the methods that syntax runs (`a + b`, `a[i]`, `for x in a`), too."""
        seen = dict.fromkeys(self.reached(node))
        for code in (pending := list(seen)):
            for name in self.code.run_in(code):
                for method in self.code.methods.get(name, ()):
                    new = [each for each in self.reached(method) if each not in seen]
                    seen.update(dict.fromkeys(new))
                    pending.extend(new)
        return seen.keys()


def flow_of(document: Document, find: Find, walking: frozenset[str] = frozenset(), offers: Offers = NO_OFFERS) -> Flow:
    """The flow of `document`. `find`: the project's file that an import means; `walking`: functions that walk what they are given.

    `offers`: for each document whose functions other code may call, those that it does, also where calls in sight do.
    """
    code = Sight(find)
    calls: Calls | None = None
    try:
        code.look_at(document)
        calls = Calls(code, walking)
        calls.link()
        code.spread_any_field()
    except TooManyEdges:
        code.flow.forget_beginnings()
        return Flow(code, calls or Calls(code, walking), is_cut=True)
    code.flow.forget_beginnings()
    open_ends(code, calls, {document: (), **offers})
    code.flow.is_guess = calls.is_guess
    made = Flow(code, calls)
    for site, wanted, places in code.compared:  # what looks for a tensor in a container compares objects
        if any(each in made.carrying for each in wanted):
            for place in (*wanted, *places):
                code.flow.end(place, Sink.ASKED, site)
    return made


def public(tree: ast.Module) -> Iterator[ast.AST]:
    """The functions and methods that code elsewhere may call by their names."""
    for part in tree.body:
        if isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
            yield from (m for m in part.body if isinstance(m, NAMED) and (m.name[:1] != "_" or m.name.endswith("__")))
        elif isinstance(part, NAMED) and not part.name.startswith("_"):
            yield part


def open_ends(code: Sight, calls: Calls, offers: Offers) -> None:
    """What code that is not in sight gives to functions, and gets from them. `offers`: as in `flow_of`."""
    first = next(iter(offers))
    for place in dict.fromkeys(source for sources in code.flow.values.values() for source in sources):
        if isinstance(place, Field) and place not in code.flow.values and not library.reads_no_graph(place.name):
            code.flow.opaque.setdefault(place, code.first_read.get(place.name, first.tree))
    own = {part for document in offers for part in subtree(document.tree)}
    called = {function for functions in offers.values() for function in functions}
    for function in code.functions:
        in_sight = (function in calls.entered or function in code.properties) and function not in called
        if in_sight and function not in code.taken or function not in own:
            continue
        name = getattr(function, "name", "")
        given = parameters(function)
        if function in code.class_of and given:
            given = given[1:]
        for parameter in given:
            code.flow.opaque[parameter] = parameter
        if name in WALKED_BY_TRAINER:
            code.flow.end(Result(function), Sink.WALKED, function)
        elif not (name.startswith("__") and name.endswith("__")):
            code.flow.end(Result(function), Sink.ESCAPES, function)

"""Which methods a call may mean: those of the classes whose objects the receiver may hold, and those that tensors and containers have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from graphfix.analysis.flow import library
from graphfix.analysis.flow.components import Gathering
from graphfix.analysis.flow.functions import DISPLAYS, arguments
from graphfix.analysis.flow.lookup import Method
from graphfix.analysis.flow.operations import Operations
from graphfix.analysis.flow.places import Field, Kind, Place, Sink, Slot
from graphfix.analysis.flow.sight import Sight
from graphfix.analysis.flow.spelled import constant, is_text
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Puts, Returns, Row
from graphfix.lazy_dataclass import dataclass

TEXT = ("builtins.str",)
SETS_UP = ("__init__", "__init_subclass__")
PUT = {Puts.ITEM: Kind.IN, Puts.CONTENTS: Kind.POURED}
DISPLAYED: dict[type[ast.AST], str] = {
    ast.List: "builtins.list", ast.ListComp: "builtins.list", ast.Dict: "builtins.dict", ast.DictComp: "builtins.dict",
    ast.Set: "builtins.set", ast.SetComp: "builtins.set", ast.JoinedStr: "builtins.str",
}  # fmt: skip
# how the object gets into what a method of it gives
GIVEN = {
    Returns.MADE: (Kind.MADE,),
    Returns.SEVERAL: (Kind.MADE,),
    Returns.MAPPING: (Kind.MADE,),
    Returns.RESULTS: (Kind.MADE,),
    Returns.ELEMENT: (Kind.OUT,),
    Returns.CONTENTS: (Kind.SPREAD,),
    Returns.VALUES: (Kind.SPREAD,),
    Returns.PAIRS: (Kind.WRAPPED,),
    Returns.COPY: (Kind.SPREAD, Kind.SAME),
    Returns.ITSELF: (Kind.SAME,),
}


@dataclass(frozen=True)
class Origins:
    """What an object may be: of which classes in sight, of none of them (`foreign`), or not known (`open`).

    `libraries`: the classes of libraries of which it is one, from which its classes in sight derive, or what has made it, by full names; empty where
    that is not all that it may be. `strange`: a library of which nothing is known may have made it, so that its methods are none that have rows.
    """

    classes: tuple[ast.ClassDef, ...]
    foreign: bool
    open: bool
    libraries: tuple[str, ...] = ()
    strange: bool = False


class Library(NamedTuple):
    """A class of a library, or a function that makes an object of one."""

    name: str


Asked = TypeVar("Asked", ast.Call, ast.Subscript, ast.Attribute)
FOREIGN, OPEN, STRANGE = "foreign", "open", "strange"


class Methods:
    """Links method calls. `enter` links a call with a method, `callbacks` with the functions among what is handed over.

    `unknown` takes the calls of which no method is known, `of_libraries` those of methods that a class inherits of a library. `apply` links a call
    with the operations that classes define, and tells whether all of them are in sight.
    """

    def __init__(
        self, code: Sight, enter: Callable[..., None], callbacks: Callable[..., None], unknown: dict[ast.Call, None]
    ) -> None:
        self.code = code
        self.own_operations = Operations(code, enter)
        self.apply = self.own_operations.apply
        self.flow = code.flow
        self.enter = enter
        self.callbacks = callbacks
        self.unknown = unknown
        self.selves = {
            each: cls
            for method, cls in self.code.class_of.items()
            if "staticmethod" not in {ast.unparse(d) for d in method.decorator_list}  # type: ignore[attr-defined]
            for each in [*method.args.posonlyargs, *method.args.args][:1]  # type: ignore[attr-defined]
        }
        self.said = Gathering(self.before, self.behind, self.said_of)
        self.added_at = self.begun_at = 0
        self.linked: dict[ast.AST, tuple[object, ...]] = {}
        self.generics: set[ast.Call] = set()
        self.handled: set[tuple[ast.Call, str, bool]] = set()
        self.callers: dict[ast.Call, dict[str, None]] = {}
        self.rows: dict[ast.Call, tuple[Row, ...]] = {}
        self.known: dict[tuple[Hashable, ...], Origins] = {}
        self.of_libraries: dict[ast.Call, ast.ClassDef | None] = {}
        self.guessed: set[tuple[ast.Call, ast.AST]] = set()
        self.named: set[tuple[ast.Call, ast.AST]] = set()  # those that a call may mean only because they are called so

    def link(self, call: ast.Call, found: Origins, last: bool) -> None:
        """Enter what the call may mean; what is not known is taken for anything only at the `last` time."""
        assert isinstance(call.func, ast.Attribute)
        name, receiver = call.func.attr, call.func.value
        if isinstance(receiver, ast.Call) and self.code.calls.get(receiver) == "super":
            self.inherited(call, name)
            return
        if self.is_linked(call, found, last, Field(name) in self.flow.values):
            for caller in (name, *self.callers.get(call, ())) if call in self.generics else ():
                self.callbacks(call, [receiver, *arguments(call)], caller)
            return
        self.generics.discard(call)
        own = self.meant(name, found, last)
        common = bool(library.methods_of(found.libraries, call, found.open))
        if found.open:
            others = {(call, method) for method in set(own) - set(self.code.lookup.found_in_any(found.classes, name))}
            self.named |= others
            if common:  # `net.train()` may be any of that name in sight, and most often is none
                self.guessed |= others
        for method in own:
            self.enter(method, call, receiver)
        entered = bool(own)
        if found.classes and not entered and Field(name) in self.flow.values:
            self.unknown[call] = None  # an object of its own may hold what is called
            if not (found.foreign or found.open):
                return
        if not last and found.open:
            return
        if found.foreign or not entered or found.open and common:
            self.generic(call, name, receiver, found)
        if not entered and not common and last or found.strange:  # until then, `net.to(device)` may turn out to be an object of a class in sight
            self.unknown[call] = None

    def is_linked(self, node: ast.AST, *known: object) -> bool:
        """Whether a node was linked when the same was known of it; from now on it is."""
        same = self.linked.get(node) == known
        self.linked[node] = known
        return same

    def origins(self, calls: Iterable[ast.Call]) -> dict[ast.Call, Origins]:
        """What the objects may be on which `calls` call a method, as far as the ways are linked by now."""
        return self.origins_of({call: call.func.value for call in calls if isinstance(call.func, ast.Attribute)})

    def subscripted(self, last: bool) -> None:
        """Enter what `x[i]` may mean for an object of a class in sight; of a tensor or a container of Python it is none of them."""
        for node, found in self.origins_of({node: node.value for node in self.code.subscripts}).items():
            for method in self.meant("__getitem__", found, last) if not self.is_linked(node, found, last) else ():
                self.code.enter_special(method, [node.slice], node)

    def meant(self, name: str, found: Origins, last: bool) -> Sequence[Method]:
        """The methods in sight that `name` may mean for such an object."""
        return self.code.methods.get(name, ()) if found.open and last else self.code.lookup.found_in_any(found.classes, name)

    def origins_of(self, receivers: Mapping[Asked, ast.expr]) -> dict[Asked, Origins]:
        """The same, for what asks it of each object."""
        self.forget_changed()
        self.said.gather(receivers.values())
        return {asking: self.origins_in(self.said.found[receiver]) for asking, receiver in receivers.items()}

    def origins_in(self, said: tuple[Hashable, ...]) -> Origins:
        """What the places where objects come from say of them."""
        if said not in self.known:
            classes = tuple(each for each in said if isinstance(each, ast.ClassDef))
            libraries = tuple(sorted(each.name for each in said if isinstance(each, Library)))
            strange = STRANGE in said
            is_open = OPEN in said or strange
            bases = self.code.lookup.libraries(classes)
            all_known = () if FOREIGN in said or is_open or bases is None else (*libraries, *bases)
            self.known[said] = Origins(classes, FOREIGN in said or bool(libraries), is_open, all_known, strange)
        return self.known[said]

    def forget_changed(self) -> None:
        """Drop what was said of objects of which more is known by now: where they come from, or which class makes them."""
        begun = self.flow.begun_since(self.begun_at)
        made = (self.code.called[place] for place in begun if place in self.code.called)
        moved = (edge.target for _, edge in self.flow.added[self.added_at :] if edge.kind is Kind.SAME)
        self.said.forget([*moved, *made])
        self.added_at, self.begun_at = len(self.flow.added), len(self.flow.begun)

    def before(self, place: Place) -> Collection[Place]:
        """Where the object at `place` comes from; of a method's first parameter the class is known."""
        return () if place in self.selves else self.flow.brought(place)

    def behind(self, place: Place) -> Iterable[Place]:
        return (target for target in self.flow.passed.get(place, ()) if target not in self.selves)

    def said_of(self, place: Place) -> Iterator[Hashable]:
        """What the place where an object comes from says of it: its classes, `FOREIGN`, `OPEN`."""
        if place in self.selves:
            yield self.selves[place]
        elif self.flow.brought(place):
            return
        elif isinstance(place, ast.Call):
            classes = [each for each in self.flow.sources(place.func) if isinstance(each, ast.ClassDef)]
            dotted = self.code.calls.get(place, "")
            tensor = isinstance(place.func, ast.Attribute) and library.is_tensor_method(place.func.attr)
            tame = bool(dotted) and library.lets_go(dotted)
            yield from classes or [self.made_by(dotted, tame or tensor)]
        elif isinstance(place, ast.ClassDef):
            yield place
        elif isinstance(place, ast.AST) and (display := DISPLAYED.get(type(place))) is not None:
            yield Library(display)
        elif isinstance(place, (ast.BinOp, ast.UnaryOp, ast.Constant, ast.JoinedStr, ast.Compare, *DISPLAYS)):
            yield FOREIGN
        else:
            yield OPEN

    def made_by(self, dotted: str, is_known: bool) -> Hashable:
        """What a call of no class in sight gives. `is_known`: a function with a row, or a method of a tensor, gives it."""
        made = library.class_given(dotted) if dotted else ""
        if made or dotted and is_known:
            return Library(made or dotted)
        return FOREIGN if is_known else STRANGE if dotted else OPEN

    def inherited(self, call: ast.Call, name: str) -> None:
        """`super().name(...)`: the methods that the class around the call inherits; where none is in sight, that of a library."""
        cls, first = self.code.inside.get(call, (None, None))
        methods = self.code.lookup.inherited(self.code.meant_by(call.func.value), name)  # type: ignore[attr-defined]
        for method in methods:
            self.enter(method, call, first)
        if methods or first is None:
            return
        if name in SETS_UP:
            for argument in arguments(call):
                self.flow.add(argument, first, Kind.IN)
        else:
            self.generic(call, name, first, Origins((), True, True))
            if not self.rows[call] and not name.startswith("__"):
                self.of_libraries[call] = cls

    def generic(self, call: ast.Call, name: str, receiver: ast.expr | ast.arg, found: Origins) -> None:
        """A method of a tensor, a container, or of what is not in sight: it does what each row of its name says, or is made of all."""
        self.callbacks(call, [receiver, *arguments(call)], name)
        self.generics.add(call)
        rows = self.rows[call] = library.methods_of(TEXT if isinstance(receiver, ast.expr) and is_text(receiver) else found.libraries, call, found.open)
        is_exact = bool(found.libraries)
        for row in rows:
            if (call, row.name, is_exact) not in self.handled:
                self.handled.add((call, row.name, is_exact))
                self.by_row(row, call, receiver)
                self.runs(row, call, receiver, found)
        if not rows and (call, "", False) not in self.handled:
            self.handled.add((call, "", False))
            for place in (receiver, *arguments(call)):
                self.flow.add(place, call, Kind.MADE)

    def gives_no_graph(self, call: ast.Call) -> bool:
        """Whether what a call gives is never part of a graph, by the rows that hold for it."""
        rows = self.rows.get(call, ())
        return bool(rows) and all(
            (row.gives_no_graph or row.of_arguments and not arguments(call)) and not gives_attributes(row, call) for row in rows
        )

    def by_row(self, row: Row, call: ast.Call, receiver: ast.expr | ast.arg) -> None:
        """What one class does in a method of this name."""
        if row.keeps or any(name in self.code.methods for name in row.runs.split()):
            self.unknown[call] = None  # such as a handler, which may look at what is logged
        if row.observes is Observes.GRAPH:
            self.flow.end(receiver, Sink.ASKED, call)
        if row.compares:
            self.code.compared.append((call, list(call.args), [receiver]))
        for argument in call.args if row.hashes else ():
            self.flow.use(argument, "hash", "", call)
        if row.puts is not Puts.NOTHING:
            self.put(row, call, receiver, call.args)
        if gives_attributes(row, call):
            self.code.dynamic(receiver, call)
        self.given_by(row, call, receiver)

    def runs(self, row: Row, call: ast.Call, receiver: ast.expr | ast.arg, found: Origins) -> None:
        """The code in sight that a method of this name runs; that of an object of which not all is known may run any."""
        is_exact = bool(found.libraries)
        if row.calls and is_exact:
            self.callers.setdefault(call, {})[row.name] = None
            self.callbacks(call, [receiver, *arguments(call)], row.name)
        if row.calls and not is_exact or row.applies and not (is_exact and self.apply(found.classes, call)):
            self.unknown[call] = None

    def operations(self, function: ast.Attribute) -> list[ast.ClassDef]:
        """The classes whose operations a method of their base runs that is read here; none where it may be something else."""
        found = self.origins_of({function: function.value})[function]
        rows = [row_of(f"{each}.{function.attr}") for each in found.libraries] if found.classes and not found.foreign else []
        is_one = any(row is not None and row.applies for row in rows)
        return list(found.classes) if is_one and all(self.code.lookup.found(cls, "forward") for cls in found.classes) else []

    def slot(self, row: Row, call: ast.Call) -> Hashable:
        """Under which key something is taken out of a mapping."""
        if row.returns is Returns.PAIRS:
            return Slot.KEY
        known = constant(call.args[0]) if row.keyed and call.args else None
        is_value = known is None and (row.keyed or row.returns is Returns.VALUES)
        return Slot.VALUE if is_value else known if row.returns is Returns.ELEMENT else None

    def put(self, row: Row, call: ast.Call, receiver: ast.expr | ast.arg, given: Sequence[ast.expr]) -> None:
        """The arguments get into the object."""
        for position, argument in enumerate(given):
            key = Slot.KEY if position == 0 else constant(given[0])
            self.flow.add(argument, receiver, PUT[row.puts], key if row.keyed else None)
        for keyword in call.keywords:
            self.flow.add(keyword.value, receiver, Kind.IN, keyword.arg if row.puts is Puts.CONTENTS else None)

    def given_by(self, row: Row, call: ast.Call, receiver: ast.expr | ast.arg) -> None:
        """What the call gives: the object, what is taken out of it or computed from it, or the same of the arguments."""
        places = arguments(call) if row.of_arguments else [receiver]
        for kind in GIVEN.get(row.returns, ()):
            for place in places:
                self.flow.add(place, call, kind, self.slot(row, call))
        if row.returns is Returns.ELEMENT:
            for argument in call.args if row.of_arguments else call.args[1:]:  # a default
                self.flow.add(argument, call, Kind.SAME)
        elif not row.of_arguments and row.returns in (Returns.MADE, Returns.SEVERAL, Returns.CONTENTS):
            for argument in arguments(call):
                self.flow.add(argument, call, GIVEN[row.returns][0])


def gives_attributes(row: Row, call: ast.Call) -> bool:
    """Whether a call gives attributes of its object, whatever they are called."""
    return row.attributes == "always" or any(keyword.arg == row.attributes for keyword in call.keywords if row.attributes)

"""Which methods a call may mean: those of the classes whose objects the receiver may hold, and those that tensors and containers have."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from graphfix.analysis.flow import library
from graphfix.analysis.flow.components import Gathering
from graphfix.analysis.flow.expressions import DISPLAYS, arguments, is_text, key_of
from graphfix.analysis.flow.hierarchy import Method
from graphfix.analysis.flow.places import Field, Kind, Place, Sink
from graphfix.analysis.flow.project_methods import linked_by_rows
from graphfix.analysis.flow.sight import Sight
from graphfix.effects.project_rows import added_methods


@dataclass(frozen=True)
class Origins:
    """What an object may be: of which classes in sight, of none of them (`foreign`), or not known (`open`)."""

    classes: tuple[ast.ClassDef, ...]
    foreign: bool
    open: bool


Asked = TypeVar("Asked", ast.Call, ast.Subscript)
FOREIGN, OPEN = "foreign", "open"


class Methods:
    """Links method calls. `enter` links a call with a method, `callbacks` with the functions among what is handed over.

    `unknown` takes the calls of which no method is known.
    """

    def __init__(
        self, code: Sight, enter: Callable[..., None], callbacks: Callable[..., None], unknown: dict[ast.Call, None]
    ) -> None:
        self.code = code
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
        self.handled: set[ast.Call] = set()
        self.known: dict[tuple[Hashable, ...], Origins] = {}
        self.guessed: set[tuple[ast.Call, ast.AST]] = set()

    def link(self, call: ast.Call, found: Origins, last: bool) -> None:
        """Enter what the call may mean; what is not known is taken for anything only at the `last` time."""
        assert isinstance(call.func, ast.Attribute)
        name, receiver = call.func.attr, call.func.value
        if isinstance(receiver, ast.Call) and self.code.calls.get(receiver) == "super":
            self.inherited(call, name)
            return
        if self.is_linked(call, found, last, Field(name) in self.flow.values):
            if call in self.generics:
                self.callbacks(call, [receiver, *arguments(call)], name)
            return
        self.generics.discard(call)
        own = self.meant(name, found, last)
        common = library.is_tensor_method(name) or name in library.COMMON or bool(added_methods(name))
        if common and found.open:  # `net.train()` may be any of that name in sight, and most often is none
            self.guessed.update((call, method) for method in set(own) - set(self.code.lookup.found_in_any(found.classes, name)))
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
            self.generic(call, name, receiver)
        if not entered and not common and last:  # until then, `net.to(device)` may turn out to be an object of a class in sight
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
            self.known[said] = Origins(classes, FOREIGN in said, OPEN in said)
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
            yield from classes
            if not classes and (tame or tensor):
                yield FOREIGN
            if not classes and not tame and not tensor:
                yield OPEN
        elif isinstance(place, ast.ClassDef):
            yield place
        elif isinstance(place, (ast.BinOp, ast.UnaryOp, ast.Constant, ast.JoinedStr, ast.Compare, *DISPLAYS)):
            yield FOREIGN
        else:
            yield OPEN

    def inherited(self, call: ast.Call, name: str) -> None:
        """`super().name(...)`: the methods that the class around the call inherits."""
        cls, first = self.code.inside.get(call, (None, None))
        for method in self.code.lookup.inherited(cls, name) if cls is not None else ():
            self.enter(method, call, first)

    def generic(self, call: ast.Call, name: str, receiver: ast.expr) -> None:
        """A method of a tensor, a container, or of what is not in sight."""
        self.callbacks(call, [receiver, *arguments(call)], name)
        self.generics.add(call)
        if call in self.handled:
            return  # nothing of what follows changes
        self.handled.add(call)
        if added_methods(name) and linked_by_rows(self.flow, self.unknown, call, receiver):
            return
        if name in library.LOGS and library.OF_HANDLERS & self.code.methods.keys():
            self.unknown[call] = None  # a handler may look at what is logged
        known = name in library.ASKS | library.PUTS | library.TAKES
        if name in library.ASKS:
            self.flow.end(receiver, Sink.ASKED, call)
        if name in ("remove", "index", "count"):
            self.code.compared.append((call, list(call.args), [receiver]))
        if name == "add":
            for argument in call.args:
                self.flow.use(argument, "hash", "", call)
        if name in library.PUTS:
            for argument in call.args:
                kind = Kind.POURED if name in library.POURS else Kind.IN
                self.flow.add(argument, receiver, kind, key_of(call) if name in ("setdefault", "__setitem__") else None)
            for keyword in call.keywords:
                self.flow.add(keyword.value, receiver, Kind.IN, keyword.arg if name == "update" else None)
            self.flow.add(receiver, call, Kind.SAME)
        if name in library.TAKES:
            kind = Kind.SPREAD if name in ("values", "keys") else Kind.WRAPPED if name in ("items", "most_common") else Kind.OUT
            self.flow.add(receiver, call, kind, key_of(call) if name == "get" else None)
            for argument in call.args[1:]:
                self.flow.add(argument, call, Kind.SAME)
        if name in library.FLUENT:
            self.flow.add(receiver, call, Kind.SAME)
        elif not known and not library.cuts_method(name) and not is_text(receiver):  # a text gives texts and numbers
            self.flow.add(receiver, call, Kind.MADE)
            for argument in arguments(call):
                self.flow.add(argument, call, Kind.MADE)
        elif not known and library.hands_on_argument(name):
            for argument in arguments(call):
                self.flow.add(argument, call, Kind.SAME)

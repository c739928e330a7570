"""The flow through calls: into every function that a call may mean, and into code that is not in sight."""

from __future__ import annotations

import ast
from functools import cached_property

from graphfix.analysis.flow import library
from graphfix.analysis.flow.callables import OF_LIBRARY, UNKNOWN, Callables, Callee
from graphfix.analysis.flow.entrances import Function
from graphfix.analysis.flow.functions import FUNCTIONS, arguments, parameters
from graphfix.analysis.flow.instructions import SENT
from graphfix.analysis.flow.language import Language
from graphfix.analysis.flow.methods import Methods
from graphfix.analysis.flow.places import Between, Edge, Field, Kind, Place, Result, Sink
from graphfix.analysis.flow.records import Records
from graphfix.analysis.flow.sight import ANY, Sight
from graphfix.calls.results import CALLED
from graphfix.effects.project_rows import added_backward_words
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes, Puts, Returns, Row
from graphfix.lazy_dataclass import dataclass
from graphfix.models.words import WALKS
from graphfix.source.subtree import kept_with_node

NAMED = (ast.FunctionDef, ast.AsyncFunctionDef)
# functions that tell the text of what they are given
TELLING = (Observes.TEXT, Observes.MESSAGE)


def kind_of_edge(dotted: str) -> Kind:
    """How what a function of a library is given gets into what it gives."""
    if library.holds_contents(dotted):
        return Kind.SPREAD
    return Kind.WRAPPED if library.holds_pairs(dotted) else Kind.MADE


@dataclass
class Heard:
    """What an argument may be that a call hands over: by the latest answer, and by all of them."""

    latest: tuple[Place, ...]
    all: set[Place]


class Calls:
    """Links the calls that were met to what they lead to; callables that travel are known once their ways are linked."""

    def __init__(self, code: Sight, walking: frozenset[str]) -> None:
        self.code = code
        self.flow = code.flow
        self.walking = WALKS | walking
        self.walking_by_word = WALKS | added_backward_words()  # of another row the full name tells, in `library_call`
        self.entered: dict[ast.AST, None] = {}
        self.unknown: dict[ast.Call, None] = {}
        self.of_methods: dict[ast.Call, None] = {}
        self.methods = Methods(code, self.enter, self.callbacks, self.unknown)
        self.targets: dict[ast.Call, dict[ast.AST, None]] = {}
        self.guessed: set[tuple[ast.Call, ast.AST]] = self.methods.guessed
        self.opaque: set[ast.Call] = set()
        self.recording: dict[ast.Call, None] = {}
        self.handed: set[ast.AST] = set()
        self.library_calls: dict[ast.Call, None] = {}
        self.called_back: dict[tuple[ast.Call, ast.expr, str], Heard] = {}
        self.led_to: dict[ast.Call, tuple[Callee, ...]] = {}
        self.opened: set[ast.Call] = set()
        self.decorated: dict[tuple[ast.Call, Function], Place | None] = {}
        self.linked: set[tuple[ast.Call, Function, Place | None, bool]] = set()
        self.records = Records(code, self.entered)
        self.language = Language(code, self.records, self.walking)
        self.callables = Callables(code, self.methods, self.library_calls)

    def is_guess(self, source: Place, edge: Edge) -> bool:
        """Whether a value goes this way only where a call, or an attribute by a name that is not known, means what nothing says that it does."""
        if edge.call is None:
            return (source, edge.target) in self.code.named_so or isinstance(source, Field) and edge.target in self.reading_any
        function = source.function if edge.leaves and isinstance(source, Result) else self.having.get(edge.target)
        return (edge.call, function) in self.guessed or (edge.call, function) in self.methods.named

    @cached_property
    def reading_any(self) -> frozenset[Place]:
        """The places that read an attribute by a name that is not known."""
        return frozenset(self.code.reads_any)

    @cached_property
    def having(self) -> dict[Place, ast.AST]:
        """The functions that have each parameter."""
        return {parameter: function for function in self.code.functions for parameter in parameters(function)}

    @property
    def reflections(self) -> list[ast.Call]:
        """The calls that may read any variable by its name."""
        return self.language.reflections

    def link(self) -> None:
        """First what is sure, so that the objects which methods are called on are known before names have to decide."""
        for call, dotted in self.code.calls.items():
            self.written(call, dotted)
        for call, container, place, key in self.code.numbers:
            if not self.code.calls[call] and self.may_be_own(name_of(call.func)):
                self.flow.add(container, place, Kind.OUT, key)
        self.settle(last=False)
        self.settle(last=True)

    def settle(self, last: bool) -> None:
        """Link the calls whose functions travel until nothing is found any more: each round sees the ways of the one before.

        Ways are only added, and so a step whose answers are those of an earlier round has been done.
        """
        size = -1
        while size != self.flow.size:
            size = self.flow.size
            self.flow.forget_beginnings()
            for call in self.library_calls:
                self.callbacks(call, arguments(call), self.code.calls[call])
            for call, origins in self.methods.origins(self.of_methods).items():
                self.methods.link(call, origins, last)
            self.methods.subscripted(last)
            for (decorated, function), receiver in list(self.decorated.items()):
                self.through_decorators(decorated, function, receiver)
            for call, cls in self.methods.of_libraries.items():
                self.through_base(call, cls)
            for call, callees in self.callables.of(self.unknown).items():
                self.through_value(call, callees, last)

    def written(self, call: ast.Call, dotted: str) -> None:
        """What can be said of a call by how it is written."""
        name = dotted or name_of(call.func)
        if library.calls_argument(name) or any(keyword.arg == "key" for keyword in call.keywords):
            name = name if all(self.takes_anything(each) for each in self.applied(call)) else "applies"
        self.handed_on(call)
        for argument in arguments(call):
            self.flow.use(argument, "argument", name, call)
            if name_of(call.func) in ("send", "asend"):
                self.flow.add(argument, SENT, Kind.SAME, crosses=True)
        if name_of(call.func) in self.walking_by_word and not self.is_method_in_sight(call):
            self.walk(call, dotted)
        elif dotted:
            self.library_calls[call] = None
            self.library_call(call, dotted)
        elif (
            isinstance(call.func, ast.Attribute)
            and call.func not in self.code.global_reads
            and self.may_be_method(call.func.attr)
        ):
            self.of_methods[call] = None
        else:
            self.unknown[call] = None

    def handed_on(self, call: ast.Call) -> None:
        """What makes texts or bytes may be handed to a call that applies it to all else that it gets: `map(str, xs)`, `default=repr`."""
        given = arguments(call)
        for argument in given if len(given) > 1 else ():
            named = self.library_name(argument)
            row = row_of(named) if named else None
            for other in given if row is not None and (row.observes in TELLING or row.pickles) else ():
                if other is not argument:
                    self.flow.use(other, "handed", named, call)

    def library_name(self, function: ast.expr) -> str:
        """The full name of a function of a library, or the name of a builtin, that is handed on; empty for all else."""
        if not isinstance(function, (ast.Name, ast.Attribute)):
            return ""
        unbound = isinstance(function, ast.Name) and self.code.is_unbound(function)
        return self.code.dotted(function) or (function.id if unbound else "")  # type: ignore[union-attr]

    def applies_for_numbers(self, row: Row | None, call: ast.Call) -> bool:
        """Whether a call gives what a function gives that it is handed, and that gives no graph: `map(float, losses)`."""
        if row is None or row.returns is not Returns.RESULTS or not call.args:
            return False
        named = self.library_name(call.args[0])
        return bool(named) and library.gives_no_graph(named)

    def applied(self, call: ast.Call) -> list[ast.expr]:
        """The functions that a call such as `map(f, xs)` or `sorted(xs, key=f)` applies."""
        keys = [keyword.value for keyword in call.keywords if keyword.arg == "key"]
        return keys or call.args[:1]

    def takes_anything(self, function: ast.expr) -> bool:
        """Whether an applied function takes a number as well as a tensor: code in sight (whose readers tell), or a conversion."""
        if isinstance(function, ast.Name) and function.id in ("float", "int", "str", "round", "abs", "print", "repr"):
            return True
        sources = self.flow.sources(function)
        return bool(sources) and all(isinstance(source, FUNCTIONS) for source in sources)

    def may_be_method(self, name: str) -> bool:
        """Whether an attribute of this name may be a method, and not only what the code puts there itself."""
        common = library.is_method(name)
        return common or name in self.code.methods or Field(name) not in self.flow.values

    def may_be_own(self, name: str) -> bool:
        """Whether the code itself gives objects something of this name."""
        return name in self.code.methods or Field(name) in self.flow.values or ANY in self.flow.values

    def is_method_in_sight(self, call: ast.Call) -> bool:
        """Whether the method that the call names is one of the file's own, and not one of a tensor."""
        name = name_of(call.func)
        return isinstance(call.func, ast.Attribute) and name not in ("backward", "grad") and name in self.code.methods

    def walk(self, call: ast.Call, dotted: str) -> None:
        receiver = call.func.value if isinstance(call.func, ast.Attribute) and not dotted else None
        if receiver is not None and name_of(call.func) == "backward":
            self.flow.end(receiver, Sink.WALKED, call)
            for method in self.code.methods.get("backward", ()):
                self.enter(method, call, receiver)
        for argument in call.args if name_of(call.func) != "grad" or dotted or receiver is None else arguments(call):
            self.flow.end(argument, Sink.WALKED, call)
        for keyword in call.keywords:
            if keyword.arg not in ("retain_graph", "create_graph", "gradient", "grad_outputs", "allow_unused"):
                self.flow.end(keyword.value, Sink.WALKED, call)
        for argument in arguments(call):
            self.flow.add(argument, call, Kind.MADE)

    def library_call(self, call: ast.Call, dotted: str) -> None:
        """A function of torch, Python or a library that is well known."""
        self.language.call(call, dotted)
        given = arguments(call)
        row = row_of(dotted)
        for argument in given if library.iterates(dotted) else ():
            self.code.iterated(argument, ("__iter__", "__next__", "__getitem__"))
        if row is not None and row.puts is not Puts.NOTHING and given:
            self.methods.put(row, call, given[0], given[1:])
        if given and library.may_give_itself(dotted):
            self.flow.add(given[0], call, Kind.SAME)
        if library.shares_memory(dotted):
            self.flow.views[call] = None
        for argument in given if not (library.gives_no_graph(dotted) or self.applies_for_numbers(row, call)) else ():
            # the batches of a loader are slices of the same tensors
            self.flow.add(argument, call, kind_of_edge(dotted), crosses=library.gives_batches(dotted))
        for argument in given if library.goes_backward(dotted) else ():
            self.flow.end(argument, Sink.WALKED, call)
        if not library.lets_go(dotted):
            self.escape(call, given)

    def callbacks(self, call: ast.Call, given: list[ast.expr], dotted: str) -> None:
        """Functions among the arguments are called with the others, and what they return comes back."""
        for argument in given:
            sources = self.flow.sources(argument)
            known = self.called_back.get((call, argument, dotted))
            if known is None:
                self.called_back[call, argument, dotted] = known = Heard(sources, set())
                if isinstance(argument, ast.Attribute) and argument.attr in self.walking and self.code.dotted_in(argument):
                    for other in given:
                        self.flow.end(other, Sink.WALKED, call)  # `map(torch.Tensor.backward, losses)`
            elif known.latest is sources:
                continue
            known.latest = sources
            new = [source for source in sources if source not in known.all]
            known.all.update(new)
            for source in new:
                if isinstance(source, ast.ClassDef) and not self.code.lookup.found(source, "__init__"):
                    self.records.applied(source, call, [each for each in given if each is not argument])
                if isinstance(source, FUNCTIONS) or library.calls_argument(dotted):
                    self.called_back_by(call, argument, source, given, dotted)

    def called_back_by(self, call: ast.Call, argument: ast.expr, source: Place, given: list[ast.expr], dotted: str) -> None:
        """The same of what one argument may be."""
        if library.calls_argument(dotted) and self.is_foreign(source):
            for other in given:
                self.flow.end(other, Sink.ESCAPES, call)
        if isinstance(source, FUNCTIONS):
            self.handed.update(() if library.binds(dotted) else (source,))
            self.entered[source] = None
            self.targets.setdefault(call, {})[source] = None
            for parameter in parameters(source):
                for other in given:
                    if other is not argument:
                        self.flow.add(other, parameter, Kind.MADE)
            self.flow.add(Result(source), call, Kind.MADE)

    def is_foreign(self, source: Place) -> bool:
        """Whether a source may be a function that is not in sight."""
        if isinstance(source, ast.Call):
            dotted = self.code.calls.get(source, "")
            return not (dotted and library.lets_go(dotted)) and source not in self.of_methods
        return isinstance(source, (ast.arg, ast.alias))

    def through_value(self, call: ast.Call, callees: tuple[Callee, ...], last: bool) -> None:
        """A call of what a name, attribute or expression holds: of all functions and objects that may come there."""
        new = callees if self.led_to.get(call) is not callees else ()
        self.led_to[call] = callees
        self.guessed.difference_update((call, callee.code) for callee in new if callee.code is not None)
        for callee in new:
            if callee.is_applied:
                self.methods.apply([callee.code], call)  # type: ignore[list-item]
                self.passed_on(call)
            elif isinstance(callee.code, ast.ClassDef):
                self.construct(callee.code, call)
            elif callee.code is not None:
                self.enter(callee.code, call, call.func if callee.is_entrance else None)  # type: ignore[arg-type]
        opaque, outside = UNKNOWN in callees, OF_LIBRARY in callees
        for callee in new:
            if callee.is_part:
                self.hand_on(call, callee.code)  # type: ignore[arg-type]
        given = arguments(call)
        if outside or opaque and last:
            self.recording[call] = None
            if any(library.shares_memory(self.code.calls.get(each, "")) for each in self.flow.sources(call.func) if isinstance(each, ast.Call)):
                self.flow.views[call] = None  # such as what `nn.Identity()` gives
            for place in [*given, call.func] if opaque and last else given:
                self.flow.add(place, call, Kind.DRAWN)
        if self.is_partial(call.func):
            self.flow.add(call.func, call, Kind.MADE)  # it holds what it was given
        for place in given if self.is_record(call.func) else ():
            self.flow.add(place, call, Kind.IN)
        if opaque and last:
            self.through_anything(call, given)

    def passed_on(self, call: ast.Call) -> None:
        """What is given to a computation is part of what it gives."""
        for argument in arguments(call):
            self.flow.add(argument, call, Kind.MADE)

    def through_base(self, call: ast.Call, cls: ast.ClassDef | None) -> None:
        """`super().name(...)` of a library's class: it may record something of what it is given, and of what the object holds."""
        _, own = self.code.inside[call]
        self.recording[call] = None
        for place in [*arguments(call), *([own] if own is not None else [])]:
            self.flow.add(place, call, Kind.DRAWN)
        bases = self.code.bases.get(cls, []) if cls is not None else []
        if not bases or not all(map(library.is_layer, bases)):
            self.escape(call, arguments(call))

    def hand_on(self, call: ast.Call, method: Function) -> None:
        """What a library's object calls with its own arguments it may call as well with what others of its parts, or itself, have made."""
        between = Between(call)
        self.flow.add(call, between, Kind.MADE)
        self.flow.add(Result(method), between, Kind.SAME, call=call, leaves=True)
        for parameter in parameters(method)[1:]:
            self.flow.add(between, parameter, Kind.SAME, call=call)

    def is_record(self, callee: ast.expr) -> bool:
        """Whether a class is called that was made of the names of its fields."""
        made = (self.code.calls.get(source, "") for source in self.flow.sources(callee) if isinstance(source, ast.Call))
        return any((row := row_of(dotted)) is not None and row.makes_record for dotted in made)

    def through_anything(self, call: ast.Call, given: list[ast.expr]) -> None:
        """A call of what is not known: of code that is not in sight, or of any function that was handed on."""
        self.callbacks(call, given, "")
        if call in self.opened:
            return  # nothing of what follows changes
        self.opened.add(call)
        self.escape(call, given)
        if self.is_in_library(call.func):
            return
        for name in CALLED:
            for method in self.code.methods.get(name, ()):
                self.guess(method, call, call.func)
        for function in list(self.code.taken):
            if accepts(function, call) and not isinstance(call.func, ast.Attribute):
                self.guess(function, call, None)  # type: ignore[arg-type]

    def is_in_library(self, function: ast.expr) -> bool:
        """Whether what is called is taken out of a library by a name that is put together: `getattr(torch.optim, name)`."""
        sources = self.flow.sources(function)
        calls = [source for source in sources if isinstance(source, ast.Call) and self.code.calls.get(source) == "getattr"]
        return len(calls) == len(sources) and all(self.code.is_of_library(each.args[0]) for each in calls if each.args)

    def guess(self, function: Function, call: ast.Call, receiver: Place | None) -> None:
        """Enter what a call may mean only because nothing is known of it."""
        if function not in self.targets.get(call, ()):
            self.guessed.add((call, function))
        self.enter(function, call, receiver)

    def is_partial(self, function: ast.expr) -> bool:
        """Whether what is called may be a function that a library has made of others."""
        sources = [source for source in self.flow.sources(function) if isinstance(source, ast.Call)]
        return any(self.code.calls.get(source, "").startswith(("functools.", "operator.")) for source in sources)

    def construct(self, cls: ast.ClassDef, call: ast.Call) -> None:
        own = self.code.lookup.found(cls, "__init__")
        for method in own:
            self.enter(method, call, call, gives=False)
        if not own:
            self.records.construct(cls, call)
            self.fill(cls, call)
        for method in self.code.lookup.found(cls, "__new__"):
            self.enter(method, call, call.func, gives=False)
        for method in self.code.methods.get("__new__", ()):
            self.entered[method] = None

    def fill(self, cls: ast.ClassDef, call: ast.Call) -> None:
        """What is given to a class that goes on a container of Python, and leaves its making to that, is in the object: `Row(loss=loss)`."""
        bases = (self.code.dotted(base) or ast.unparse(base) for each in self.code.lookup.line(cls) for base in each.bases)
        if any((row := row_of(base)) is not None and not row.gives_no_graph for base in bases):
            for given in call.args:
                self.flow.add(given, call, Kind.POURED)
            for keyword in call.keywords:
                self.flow.add(keyword.value, call, Kind.IN if keyword.arg else Kind.POURED, keyword.arg)

    def enter(self, function: Function, call: ast.Call, receiver: Place | None, gives: bool = True, behind: int = 0) -> None:
        """The arguments get to the parameters, `behind` the first of which something else stands, and what the function returns to the call."""
        if (call, function, receiver, gives) in self.linked:
            return
        self.linked.add((call, function, receiver, gives))
        self.entered[function] = None
        self.targets.setdefault(call, {})[function] = None
        named = {each.arg: each for each in parameters(function)}
        positional = [*function.args.posonlyargs, *function.args.args][behind:]
        if function in self.code.class_of and "staticmethod" not in decorators(function):
            if receiver is not None and positional:
                self.flow.add(receiver, positional[0], Kind.SAME, call=call)
            if receiver is not None:
                positional = positional[1:]
        spread = any(isinstance(argument, ast.Starred) for argument in call.args)
        for index, argument in enumerate(call.args):
            if spread:
                for parameter in positional:
                    self.flow.add(argument, parameter, Kind.OUT if isinstance(argument, ast.Starred) else Kind.SAME, call=call)
            elif index < len(positional):
                self.flow.add(argument, positional[index], Kind.SAME, call=call)
            if (spread or index >= len(positional)) and function.args.vararg is not None:
                self.flow.add(argument, function.args.vararg, Kind.IN, call=call)
        for keyword in call.keywords:
            if keyword.arg in named:
                self.flow.add(keyword.value, named[keyword.arg], Kind.SAME, call=call)
            elif keyword.arg is None:
                for parameter in named.values():
                    self.flow.add(keyword.value, parameter, Kind.OUT, parameter.arg, call=call)
            elif function.args.kwarg is not None:
                self.flow.add(keyword.value, function.args.kwarg, Kind.IN, keyword.arg, call=call)
        wrapped = function in self.code.wrapped
        if wrapped:
            self.decorated[call, function] = receiver
        if gives:
            self.flow.add(Result(function), call, Kind.MADE if wrapped else Kind.SAME, crosses=wrapped, call=call, leaves=True)

    def through_decorators(self, call: ast.Call, function: Function, receiver: Place | None) -> None:
        """A call of a function that code in sight decorates runs what the decorator gives in its place, which may call the function itself."""
        for decorator in getattr(function, "decorator_list", ()):
            for maker in self.flow.sources(decorator):
                if isinstance(maker, NAMED) and parameters(maker):
                    self.flow.add(function, parameters(maker)[0], Kind.SAME)
                    for wrapper in self.flow.sources(Result(maker)):
                        if isinstance(wrapper, FUNCTIONS) and wrapper is not function:
                            self.enter(wrapper, call, None)
                            self.give_first(wrapper, receiver)

    def give_first(self, wrapper: Function, receiver: Place | None) -> None:
        """The object comes before the arguments of a wrapper around a method, of which each may get to the next parameter then."""
        first = [*wrapper.args.posonlyargs, *wrapper.args.args]
        if receiver is None:
            return
        if first:
            self.flow.add(receiver, first[0], Kind.SAME)
        for parameter, following in zip(first, first[1:]):
            self.flow.add(parameter, following, Kind.SAME)
        if wrapper.args.vararg is not None:
            self.flow.add(first[-1] if first else receiver, wrapper.args.vararg, Kind.IN)

    def escape(self, call: ast.Call, given: list[ast.expr]) -> None:
        """Code that is not in sight gets hold of the arguments."""
        self.flow.opaque[call] = call
        self.opaque.add(call)
        for argument in given:
            self.flow.end(argument, Sink.ESCAPES, call)


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def accepts(function: ast.AST, call: ast.Call) -> bool:
    """Whether a function takes as many arguments as the call gives, `self` not counted."""
    signature = function.args  # type: ignore[attr-defined]
    most = len(signature.posonlyargs) + len(signature.args)
    return signature.vararg is not None or len(call.args) <= most


@kept_with_node
def decorators(function: ast.AST) -> set[str]:
    return {ast.unparse(each) for each in getattr(function, "decorator_list", ())}

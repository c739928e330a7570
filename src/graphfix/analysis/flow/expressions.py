"""The flow of expressions: where a value goes that an expression has."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Sequence

from graphfix.analysis.flow import library
from graphfix.analysis.flow.definitions import Reaching
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.implicit import OPERATORS
from graphfix.analysis.flow.places import Cell, Field, Kind, Place, Result, Sink, Slot
from graphfix.analysis.flow.scopes import Scope
from graphfix.analysis.flow.spelled import constant, is_text
from graphfix.effects.methods import observes_graph
from graphfix.models.words import WALKS
from graphfix.source.subtree import children, kept_with_node

READS_MAPPING = frozenset(("items", "keys", "values", "get", "copy"))
DISPLAYS = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SENT = Field("send()")  # what is sent to generators


class Expressions:
    """Adds the edges of expressions to `flow`. What a call leads to is left to `calls`, once all code has been passed over."""

    def __init__(self, flow: FlowGraph) -> None:
        self.flow = flow
        self.scope: Scope = None  # type: ignore[assignment]
        self.reaching = Reaching()
        self.calls: dict[ast.Call, str] = {}
        self.wrapped: set[ast.AST] = set()
        self.taken: dict[ast.AST, None] = {}
        self.inside: dict[ast.Call, tuple[ast.ClassDef | None, ast.arg | None]] = {}
        self.subscripts: list[ast.Subscript] = []
        self.global_reads: set[ast.Attribute] = set()
        self.numbers: dict[tuple[ast.Call, Place, Place, Hashable], None] = {}
        self.compared: list[tuple[ast.expr, list[ast.expr], list[ast.expr]]] = []
        self.first_read: dict[str, ast.Attribute] = {}
        self.asked: list[Place] = []
        self.reads_any: list[Place] = []
        self.namespaces: list[Place] = []
        self.only_read: set[Place] = set()  # mappings that are spread or looked through, where they stand
        self.functions_named: dict[str, list[ast.AST]] = {}
        self.properties: dict[ast.AST, None] = {}
        self.called: dict[Place, ast.Call] = {}
        self.methods: dict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = {}

    def expression(self, node: ast.expr) -> None:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is not None:
            method(node)
            return
        for part in children(node):
            if isinstance(part, ast.expr):
                self.expression(part)

    def read_name(self, name: str, place: Place) -> None:
        """The value of `name` at this point of the code gets to `place`."""
        scope = self.scope
        owner = self.declared_owner(name) if name in scope.declared else scope.owner(name)
        if owner is None:
            for cell in self.starred(name):
                self.flow.add(cell, place, Kind.SAME, crosses=True)
            return
        if owner is not scope:
            self.flow.add(Cell(owner.node, name), place, Kind.SAME, crosses=True)
            return
        for definition, crosses in self.reaching.of(name):
            self.flow.add(definition, place, Kind.SAME, crosses=crosses)
        if name in scope.written:
            self.flow.add(Cell(scope.node, name), place, Kind.SAME, crosses=True)

    def is_unbound(self, name: str) -> bool:
        """Whether nothing in sight binds a name."""
        bound = name in self.scope.declared or self.scope.owner(name) is not None
        return not bound and not any(True for _ in self.starred(name))

    def declared_owner(self, name: str) -> Scope | None:
        above = self.scope.outer
        while above is not None and (name not in above.bound or isinstance(above.node, ast.ClassDef)):
            above = above.outer
        return above

    def of_Name(self, node: ast.Name) -> None:
        self.read_name(node.id, node)
        if node not in self.called:
            for function in self.functions_named.get(node.id, ()):
                self.taken[function] = None

    def attribute_read(self, place: Place, name: str, site: ast.AST) -> None:
        """An attribute of the object at `place` is read."""
        self.flow.use(place, "attribute", name, site)
        if observes_graph(name):
            self.flow.end(place, Sink.ASKED, site)

    def of_Attribute(self, node: ast.Attribute) -> None:
        self.expression(node.value)
        if self.dotted(node) is not None:
            self.flow.use(node.value, "attribute", node.attr, node)
            return
        shared = self.shared(node)
        if shared is not None:
            self.of_module(node, shared)
            return
        self.attribute_read(node.value, node.attr, node)
        if node.attr == "__dict__":
            self.dynamic(node.value, node)
            return
        if node.attr in WALKS and node.attr != "grad" and node not in self.called:  # `.grad` of a tensor is its gradient
            self.flow.end(node.value, Sink.WALKED, node)  # the method is handed on, and called elsewhere
        for method in self.methods.get(node.attr, ()) if node not in self.called else ():
            if is_property(method):
                self.flow.add(Result(method), node, Kind.SAME, crosses=True)
                self.properties[method] = None
            else:
                self.taken[method] = None
                self.flow.add(method, node, Kind.SAME)
            self.give_self(method, node.value)
        if Field(node.attr) not in self.flow.values and node not in self.called and not library.reads_no_graph(node.attr):
            self.asked.append(node)  # it may be a parameter of a module
        self.special("__get__", [node.value], node)
        if node.attr not in self.methods and not library.is_tensor_method(node.attr):
            for name in ("__getattr__", "__getattribute__"):
                self.special(name, [], node, node.value)
        self.flow.add(Field(node.attr), node, Kind.SAME, crosses=True)
        self.first_read.setdefault(node.attr, node)
        if not library.reads_no_graph(node.attr):
            self.take(node.value, node, f".{node.attr}")

    def of_module(self, node: ast.Attribute, shared: Cell) -> None:
        """A global name of another module is read: `module.name`."""
        self.global_reads.add(node)
        self.flow.add(shared, node, Kind.SAME, crosses=True)
        for function in self.functions_named.get(node.attr, ()) if node not in self.called else ():
            self.taken[function] = None

    def take(self, container: Place, place: Place, key: Hashable) -> None:
        """What the object at `container` holds under a key gets to `place`."""
        self.flow.add(container, place, self.taken_as(container, container, place, key), key)

    def taken_as(self, value: Place, container: Place, place: Place, key: Hashable) -> Kind:
        """How what is taken out of a container gets to `place`: as a number where torch gives no more there.

        `value`: what gives the container.
        """
        if not isinstance(value, ast.Call) or not library.gives_numbers_at(value, self.calls.get(value, ""), key):
            return Kind.OUT
        self.numbers[value, container, place, key] = None
        return Kind.NUMBER

    def give_self(self, method: ast.FunctionDef | ast.AsyncFunctionDef, value: Place) -> None:
        first = [*method.args.posonlyargs, *method.args.args]
        if first:
            self.flow.add(value, first[0], Kind.SAME)

    def of_Subscript(self, node: ast.Subscript) -> None:
        self.expression(node.value)
        self.expression(node.slice)
        self.flow.use(node.value, "subscript", "", node)
        if isinstance(node.slice, ast.Slice):
            self.flow.add(node.value, node, Kind.SPREAD)
        else:
            self.flow.use(node.slice, "key", "", node)
            key = constant(node.slice)
            self.take(node.value, node, Slot.VALUE if key is None else key)
        if "__getitem__" in self.methods:
            self.subscripts.append(node)
        for name in ("__missing__", "__class_getitem__"):
            self.special(name, [node.slice], node, node.value)

    def of_BinOp(self, node: ast.BinOp) -> None:
        self.expression(node.left)
        self.expression(node.right)
        if isinstance(node.op, ast.Mod) and (is_text(node.left) or isinstance(node.right, ast.Tuple)):
            for each in (node.right, *getattr(node.right, "elts", ())):
                self.flow.use(each, "text", "%", node)
            return
        for side in (node.left, node.right):
            self.flow.use(side, "arithmetic", type(node.op).__name__, node)
            self.flow.add(side, node, Kind.MADE)
        name = OPERATORS[type(node.op)]
        self.special(f"__{name}__", [node.right], node)
        self.special(f"__r{name}__", [node.left], node)

    def of_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.expression(node.operand)
        kind = Kind.NUMBER if isinstance(node.op, ast.Not) else Kind.MADE
        if isinstance(node.op, ast.Invert):
            self.flow.use(node.operand, "inverted", "", node)
        self.flow.add(node.operand, node, kind)
        if type(node.op) in OPERATORS:
            self.special(f"__{OPERATORS[type(node.op)]}__", [], node, node.operand)

    def of_BoolOp(self, node: ast.BoolOp) -> None:
        for each in node.values:
            self.expression(each)
            self.flow.add(each, node, Kind.SAME)

    def of_IfExp(self, node: ast.IfExp) -> None:
        self.expression(node.test)
        for each in (node.body, node.orelse):
            self.expression(each)
            self.flow.add(each, node, Kind.SAME)

    def of_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for side in sides:
            self.expression(side)
            self.flow.add(side, node, Kind.NUMBER)
            self.flow.use(side, "comparison", "", node)
        for operator, left, right in zip(node.ops, sides, sides[1:]):
            if isinstance(operator, (ast.Is, ast.IsNot)) and not any(isinstance(s, ast.Constant) for s in (left, right)):
                for side in (left, right):
                    self.flow.end(side, Sink.ASKED, node)
            elif isinstance(operator, (ast.In, ast.NotIn)):
                self.compared.append((node, [left], [right]))
            if type(operator) in OPERATORS:
                self.special(f"__{OPERATORS[type(operator)]}__", [right], node)
                self.special(f"__{OPERATORS[type(operator)]}__", [left], node)

    def of_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.expression(node.value)
        self.flow.add(node.value, node, Kind.SAME)
        self.bind(node.target, node.value)

    def of_Await(self, node: ast.Await) -> None:
        self.expression(node.value)
        self.flow.add(node.value, node, Kind.SAME)

    def of_Starred(self, node: ast.Starred) -> None:
        self.expression(node.value)
        self.flow.add(node.value, node, Kind.MADE)

    def of_Lambda(self, node: ast.Lambda) -> None:
        self.taken[node] = None
        for value in (*node.args.defaults, *node.args.kw_defaults):
            if value is not None:
                self.expression(value)
        positional = [*node.args.posonlyargs, *node.args.args]
        for parameter, value in zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults):
            self.flow.add(value, parameter, Kind.SAME, crosses=True)

    def of_FormattedValue(self, node: ast.FormattedValue) -> None:
        self.expression(node.value)
        self.flow.use(node.value, "text", chr(node.conversion) if node.conversion > 0 else "", node)
        if node.format_spec is not None:
            self.expression(node.format_spec)

    def of_Dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values):
            if key is None:
                self.only_read.add(value)
            self.expression(value)
            if key is None:
                self.flow.add(value, node, Kind.MADE)
                continue
            self.expression(key)
            self.put_as_key(key, node)
            self.flow.use(key, "hash", "", node)
            self.flow.add(value, node, Kind.IN, constant(key))

    def put_as_key(self, key: ast.expr, holder: Place) -> None:
        """What is no text and no number as it is written may be a tensor, which a mapping has as a key."""
        if not isinstance(key, (ast.Constant, ast.JoinedStr, ast.Slice)):
            self.flow.add(key, holder, Kind.IN, Slot.KEY)

    def of_List(self, node: ast.List | ast.Tuple | ast.Set) -> None:
        starred = any(isinstance(each, ast.Starred) for each in node.elts)
        for index, each in enumerate(node.elts):
            self.expression(each)
            if isinstance(each, ast.Starred):
                self.flow.add(each, node, Kind.MADE)
            else:
                self.flow.add(each, node, Kind.IN, None if starred else index)

    of_Tuple = of_List

    def of_Set(self, node: ast.Set) -> None:
        self.of_List(node)
        for each in node.elts:
            self.flow.use(each, "hash", "", node)

    def of_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        before = self.reaching.now
        outside = self.reaching.loops
        for generator in node.generators:
            self.expression(generator.iter)
            self.bind_each(generator.target, generator.iter)
            for condition in generator.ifs:
                self.expression(condition)
        if isinstance(node, (ast.DictComp, ast.SetComp)):
            self.flow.use(node.key if isinstance(node, ast.DictComp) else node.elt, "hash", "", node)
        if isinstance(node, ast.DictComp):
            self.expression(node.key)
            self.put_as_key(node.key, node)
        item = node.value if isinstance(node, ast.DictComp) else node.elt
        self.expression(item)
        self.flow.add(item, node, Kind.IN)
        self.reaching.now, self.reaching.loops = before, outside

    of_SetComp = of_ListComp
    of_GeneratorExp = of_ListComp
    of_DictComp = of_ListComp

    def of_Yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self.expression(node.value)
            self.flow.add(node.value, Result(self.scope.node), Kind.IN)
        self.flow.add(SENT, node, Kind.SAME, crosses=True)
        self.flow.opaque[node] = node

    def of_YieldFrom(self, node: ast.YieldFrom) -> None:
        self.expression(node.value)
        self.flow.add(node.value, Result(self.scope.node), Kind.MADE)
        self.flow.add(node.value, node, Kind.MADE)

    def of_Call(self, node: ast.Call) -> None:
        self.called[node.func] = node
        self.only_read.update(keyword.value for keyword in node.keywords if keyword.arg is None)
        if isinstance(node.func, ast.Attribute) and node.func.attr in READS_MAPPING:
            self.only_read.add(node.func.value)
        self.expression(node.func)
        for argument in arguments(node):
            self.expression(argument)
        self.calls[node] = self.dotted(node.func) or ""
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            self.inside[node] = self.class_around()
        if isinstance(node.func, ast.Name) and self.is_unbound(node.func.id):
            self.calls[node] = self.calls[node] or node.func.id

    def dynamic(self, value: ast.expr, place: Place) -> None:
        """The attributes of an object as a mapping: what is read from it, or written to it, may be any attribute."""
        self.namespaces.append(place)
        if place not in self.only_read:
            self.flow.add(place, Field("*"), Kind.OUT, crosses=True)

    def class_around(self) -> tuple[ast.ClassDef | None, ast.arg | None]:
        """The class in whose method the code stands, and that method's first parameter."""
        scope: Scope | None = self.scope
        first = None
        while scope is not None and not isinstance(scope.node, ast.ClassDef):
            given = scope.node.args.args if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
            first = given[0] if given else None
            scope = scope.outer
        return (scope.node, first) if scope is not None and isinstance(scope.node, ast.ClassDef) else (None, None)

    def special(self, name: str, given: Sequence[ast.expr], result: Place, of: Place | None = None) -> None:
        """Methods of this name that Python itself may call here. `of`: the object, where what it holds may be changed so."""
        if name in self.methods:
            self.enter_named(name, list(given), result)
            for method in self.methods[name] if of is not None else ():
                self.give_self(method, of)

    def iterated(self, items: ast.expr, names: Sequence[str]) -> None:
        """Methods of these names may run where items are taken out of an object; what is written as a list has those of Python."""
        for name in names if not isinstance(items, DISPLAYS) else ():
            self.enter_named(name, [], items)

    def enter_named(self, name: str, given: Sequence[Place], result: Place, bound: Place | None = None) -> None:
        """Every method of this name may be entered with what is `given`."""
        for method in self.methods.get(name, ()):
            self.enter_special(method, given, bound if bound is not None else result)

    def enter_special(self, method: ast.FunctionDef | ast.AsyncFunctionDef, given: Sequence[Place], result: Place) -> None:
        positional = [*method.args.posonlyargs, *method.args.args][1:]
        for parameter, value in zip(positional, given):
            self.flow.add(value, parameter, Kind.SAME)
        self.flow.add(Result(method), result, Kind.SAME)

    def hand_over(self, function: Place, method: ast.AST) -> None:
        """A function is given to code that may call it with anything."""
        self.taken[method] = None

    def dotted(self, node: ast.AST) -> str | None:
        raise NotImplementedError

    def shared(self, attribute: ast.Attribute) -> Cell | None:
        raise NotImplementedError

    def starred(self, name: str) -> Iterable[Cell]:
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Place, kind: Kind = Kind.SAME, key: Hashable = None) -> None:
        raise NotImplementedError


def arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


@kept_with_node
def is_property(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in method.decorator_list)

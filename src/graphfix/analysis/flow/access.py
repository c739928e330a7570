"""The flow through names, attributes and items, where these are read and written."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from graphfix.analysis.flow import library
from graphfix.analysis.flow.functions import is_property, parameters
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Cell, Field, Kind, Place, Result, Sink, Slot
from graphfix.analysis.flow.special_methods import SpecialMethods
from graphfix.analysis.flow.spelled import constant
from graphfix.effects.methods import observes_graph
from graphfix.ir import instructions as ir
from graphfix.ir.variables import Home
from graphfix.models.words import WALKS

# special methods that keep, or give, what an object holds
HANDING = frozenset("__setattr__ __getattr__ __getattribute__ __setitem__ __getitem__ __missing__".split())
READS_ITEMS = ("__missing__", "__class_getitem__")
RAISED = Field("raise")  # what exceptions hold that code in sight raises


class Access(SpecialMethods):
    """Adds the edges of reads and writes.

    `called`: what is called, with the call. `functions_named`: the functions in sight of each name; a name that is read, and not called,
    hands them on. `renamed`: special methods that a class takes from elsewhere, such as `__setattr__ = dict.__setitem__`: what is put in by one
    way then comes out by any. `global_reads`: attributes that are global names of other modules. `asked`: attributes that may be parameters of a module.
    """

    def __init__(self, flow: FlowGraph) -> None:
        super().__init__(flow)
        self.subscripts: list[ast.Subscript] = []
        self.global_reads: set[ast.Attribute] = set()
        self.first_read: dict[str, ast.Attribute] = {}
        self.asked: list[Place] = []
        self.functions_named: dict[str, list[ast.AST]] = {}
        self.properties: dict[ast.AST, None] = {}
        self.called: dict[Place, ast.Call] = {}
        self.renamed: set[str] = set()

    def add_from(self, value: ir.Value, target: Place, kind: Kind, key: Hashable = None, crosses: bool = False) -> None:
        """A value gets to `target`."""
        source = self.place(value)
        if source is not None and source is not target:
            self.flow.add(source, target, kind, key, crosses)

    def use(self, value: ir.Value, how: str, name: str, site: ast.AST) -> None:
        """The code at `site` uses a value."""
        place = self.place(value)
        if place is not None:
            self.flow.use(place, how, name, site)

    # -- names --------------------------------------------------------------------------------------------------------

    def read_name(self, read: ir.ReadName) -> None:
        node = read.node
        if isinstance(getattr(node, "ctx", None), ast.Store) or isinstance(node, ast.AnnAssign):
            return  # the old value of what is changed in place, or the annotations of a class
        self.read_variable(read, read.variable, node)
        if isinstance(node, ast.Name) and node not in self.called:
            for function in self.functions_named.get(node.id, ()):
                self.taken[function] = None

    def write_name(self, write: ir.WriteName) -> None:
        node = write.node
        if write.variable.home is Home.TEMPORARY or write.variable.name == "__annotations__":
            return  # of the lowering: a value that comes by several ways, the annotations of a class or module
        if isinstance(node, ast.alias):
            self.bind_variable(write.variable, node)
            self.import_name(node, self.giver(write.value))
            return
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.MatchOr)):
            self.bind_pattern(node, write)
        elif isinstance(node, ast.Name):
            self.bound_to(node, write.value)
            above = self.origins.parents.get(node)
            if isinstance(above, ast.NamedExpr):
                self.add_from(write.value, above, Kind.SAME)
        elif isinstance(node, ast.ExceptHandler):
            self.flow.add(RAISED, node, Kind.SAME, crosses=True)
        self.bind_variable(write.variable, node)

    def bind_pattern(self, node: ast.AST, write: ir.WriteName) -> None:
        """A pattern binds what is matched, or a part of it."""
        for place, kind, key in self.brought_by(self.code, write.value):
            whole = isinstance(self.origins.parents.get(node), ast.match_case)
            self.flow.add(place, node, kind if whole else Kind.MADE, key)

    def import_name(self, alias: ast.alias, giver: ir.Instruction) -> None:
        assert isinstance(giver, ir.Import)
        if giver.member is None:
            self.imported(alias, giver.module if not giver.root else giver.module.split(".")[0])
        else:
            self.imported_from(alias, "." * giver.level + giver.module)

    def take_parameter(self, parameter: ir.Parameter) -> None:
        if isinstance(parameter.node, ast.arg):
            self.bind_variable(parameter.variable, parameter.node)

    # -- attributes and items -----------------------------------------------------------------------------------------

    def attribute_read(self, place: Place, name: str, site: ast.AST) -> None:
        """An attribute of the object at `place` is read."""
        self.flow.use(place, "attribute", name, site)
        if observes_graph(name):
            self.flow.end(place, Sink.ASKED, site)

    def read_attribute(self, read: ir.ReadAttribute | ir.DeleteAttribute) -> None:
        node = read.node
        holder = self.place(read.object)
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Store) or holder is None:
            return
        if self.dotted(node) is not None:
            self.flow.use(holder, "attribute", node.attr, node)
            return
        shared = self.shared(node)
        if shared is not None:
            self.of_module(node, shared)
            return
        self.attribute_read(holder, node.attr, node)
        if node.attr == "__dict__":
            self.dynamic(holder, node)
            return
        if node.attr in WALKS and node.attr != "grad" and node not in self.called:  # `.grad` of a tensor is its gradient
            self.flow.end(holder, Sink.WALKED, node)  # the method is handed on, and called elsewhere
        self.read_method(node, holder)
        if Field(node.attr) not in self.flow.values and node not in self.called and not library.reads_no_graph(node.attr):
            self.asked.append(node)  # it may be a parameter of a module
        self.special("__get__", [holder], node)
        if node.attr not in self.methods and not library.is_tensor_method(node.attr):
            for name in ("__getattr__", "__getattribute__"):
                self.special(name, [], node, holder)
        self.flow.add(Field(node.attr), node, Kind.SAME, crosses=True)
        self.first_read.setdefault(node.attr, node)
        if not library.reads_no_graph(node.attr):
            self.take(holder, node, f".{node.attr}")
            if self.renamed:
                self.take(holder, node, None)

    def read_method(self, node: ast.Attribute, holder: Place) -> None:
        """A method is read that is not called here: a property runs, another may be called anywhere."""
        for method in self.methods.get(node.attr, ()) if node not in self.called else ():
            if is_property(method):
                self.flow.add(Result(method), node, Kind.SAME, crosses=True)
                self.properties[method] = None
            else:
                self.taken[method] = None
                self.flow.add(method, node, Kind.SAME)
            self.give_self(method, holder)
            self.named_so.update((holder, first) for first in parameters(method)[:1])

    def of_module(self, node: ast.Attribute, shared: Cell) -> None:
        """A global name of another module is read: `module.name`."""
        self.global_reads.add(node)
        self.flow.add(shared, node, Kind.SAME, crosses=True)
        for function in self.functions_named.get(node.attr, ()) if node not in self.called else ():
            self.taken[function] = None

    def write_attribute(self, write: ir.WriteAttribute) -> None:
        target, holder = write.node, self.place(write.object)
        if not isinstance(target, ast.Attribute) or holder is None:
            return
        if target.attr == "requires_grad":
            self.asked.append(holder)
            self.flow.use(holder, "attribute", target.attr, target)
        if target.attr == "__dict__" and (given := self.place(write.value)) is not None:
            self.dynamic(holder, given)  # `self.__dict__ = self`: items are attributes
        self.bound_to(target, write.value)
        self.flow.add(target, Field(target.attr), Kind.SAME, crosses=True)
        self.flow.add(target, holder, Kind.IN, f".{target.attr}")
        if self.renamed:
            self.flow.add(target, holder, Kind.IN)
        shared = self.shared(target)
        if shared is not None:
            self.flow.add(target, shared, Kind.SAME, crosses=True)
        self.special("__setattr__", [target], target)
        self.enter_named(target.attr, [target], target)

    def read_item(self, read: ir.ReadItem | ir.DeleteItem) -> None:
        node, holder = read.node, self.place(read.object)
        if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Store) or holder is None:
            return
        self.flow.use(holder, "subscript", "", node)
        if isinstance(node.slice, ast.Slice):
            self.flow.add(holder, node, Kind.SPREAD)
        else:
            self.use(read.key, "key", "", node)
            key = constant(node.slice)
            self.take(holder, node, (Slot.VALUE if key is None else key) if not self.renamed else None)
        if "__getitem__" in self.methods:
            self.subscripts.append(node)
        for name in READS_ITEMS if isinstance(read, ir.ReadItem) else ("__delitem__",):
            self.special(name, [node.slice], node, holder)

    def write_item(self, write: ir.WriteItem) -> None:
        target, holder = write.node, self.place(write.object)
        if not isinstance(target, ast.Subscript) or holder is None:
            return
        self.bound_to(target, write.value)
        self.use(write.key, "key", "", target)
        self.put_as_key(target.slice, holder)
        self.flow.add(target, holder, Kind.IN, constant(target.slice) if not self.renamed else None)
        self.special("__setitem__", [target.slice, target], target)

    def put_as_key(self, key: ast.expr, holder: Place) -> None:
        """What is no text and no number as it is written may be a tensor, which a mapping has as a key."""
        if not isinstance(key, (ast.Constant, ast.JoinedStr, ast.Slice)):
            self.flow.add(key, holder, Kind.IN, Slot.KEY)

    def imported(self, alias: ast.alias, module: str) -> None:
        raise NotImplementedError

    def imported_from(self, alias: ast.alias, module: str) -> None:
        raise NotImplementedError

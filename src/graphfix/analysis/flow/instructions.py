"""The flow of instructions: each kind adds the edges from what it uses to what it gives, and says what it does with what it uses."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from graphfix.analysis.flow.access import RAISED, Access
from graphfix.analysis.flow.functions import FUNCTIONS, parameters
from graphfix.analysis.flow.graph import FlowGraph
from graphfix.analysis.flow.places import Field, Kind, Old, Place, Result, Sink, Slot
from graphfix.analysis.flow.spelled import constant, is_text
from graphfix.calls.implicit import asked_by
from graphfix.effects.rows import row_of
from graphfix.ir import instructions as ir
from graphfix.ir.blocks import Code
from graphfix.source.subtree import subtree

SENT = Field("send()")  # what is sent to generators


class Instructions(Access):
    """Adds the edges of code objects to `flow`. What a call leads to is left to `calls`, once all code has been passed over.

    `hidden`: the functions that code which is not lowered may call.
    """

    def __init__(self, flow: FlowGraph) -> None:
        super().__init__(flow)
        self.wrapped: set[ast.AST] = set()
        self.inside: dict[ast.Call, tuple[ast.ClassDef | None, ast.arg | None]] = {}
        self.compared: list[tuple[ast.expr, list[ast.expr], list[ast.expr]]] = []
        self.reads_any: list[Place] = []
        self.hidden: set[ast.AST] = set()
        self.bases: dict[ast.ClassDef, list[str]] = {}

    def pass_over(self, code: Code) -> None:
        """Add the edges of all instructions of a code object."""
        self.code = code
        for instruction in code.instructions():
            handler = HANDLERS.get(type(instruction))
            if handler is not None:
                handler(self, instruction)
            elif not isinstance(instruction, WITHOUT_FLOW):
                self.escape_from(instruction)

    def escape_from(self, instruction: ir.Instruction) -> None:
        """Nothing is known of what an instruction does with what it uses: it may do anything."""
        for value in instruction.operands:
            place = self.place(value)
            if place is not None:
                self.flow.end(place, Sink.ESCAPES, instruction.node)
                self.flow.end(place, Sink.ASKED, instruction.node)

    # -- making and taking apart --------------------------------------------------------------------------------------

    def build(self, built: ir.Build) -> None:
        node = built.node
        if isinstance(node, ast.Starred):  # taken apart before later parts are evaluated
            self.add_from(built.items[0].value, node, Kind.MADE)
        elif isinstance(node, ast.Dict):
            for key, item in zip(node.keys, built.items):
                self.put_pair(node, key, item)
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            starred = any(item.stars for item in built.items)
            for index, (each, item) in enumerate(zip(node.elts, built.items)):
                if item.stars:
                    self.add_from(item.value, each, Kind.MADE)
                    self.flow.add(each, node, Kind.MADE)
                else:
                    self.add_from(item.value, node, Kind.IN, None if starred else index)
                if isinstance(node, ast.Set):
                    self.use(item.value, "hash", "", node)

    def put_pair(self, node: ast.Dict, key: ast.expr | None, item: ir.Item) -> None:
        if key is None:
            self.add_from(item.value, node, Kind.POURED)  # under the keys that it has there
            return
        self.put_as_key(key, node)
        self.flow.use(key, "hash", "", node)
        self.add_from(item.value, node, Kind.IN, constant(key))

    def collect(self, collected: ir.Collect) -> None:
        """A comprehension puts an item into what it builds."""
        node = collected.node
        if isinstance(node, ast.DictComp):
            self.put_as_key(node.key, node)
        if isinstance(node, (ast.DictComp, ast.SetComp)):
            self.flow.use(node.key if isinstance(node, ast.DictComp) else node.elt, "hash", "", node)
        self.add_from(collected.item.value, node, Kind.IN)

    def unpack(self, unpacked: ir.Unpack) -> None:
        if self.apart(self.code, unpacked) is None:
            self.bound_to(unpacked.node, unpacked.value)

    def format(self, formatted: ir.Format) -> None:
        self.use(formatted.value, "text", formatted.conversion, formatted.node)

    def raise_(self, raised: ir.Raise) -> None:
        """An exception goes to whichever handler takes it, and to the context managers on its way."""
        if raised.again or raised.exception is None:
            return
        self.add_from(raised.exception, RAISED, Kind.SAME, crosses=True)
        for name in EXITS:
            for method in self.methods.get(name, ()):
                for parameter in parameters(method)[1:]:
                    self.flow.add(RAISED, parameter, Kind.SAME, crosses=True)

    def enter(self, entered: ir.Enter) -> None:
        item = entered.node
        if isinstance(item, ast.withitem) and item.optional_vars is not None:
            self.enter_named("__enter__", [], item.context_expr, item.optional_vars)

    def match(self, matched: ir.Match) -> None:
        """A pattern asks what an object is, and reads attributes of it."""
        subject = self.subject(self.code, matched.value)
        if subject is None or matched.pattern is not ir.Pattern.CLASS:
            return
        self.flow.use(subject, "argument", "isinstance", matched.node)
        for attribute in matched.names:  # `case Tensor(requires_grad=True)`
            self.attribute_read(subject, attribute, matched.node)

    # -- computing ----------------------------------------------------------------------------------------------------

    def operate(self, operated: ir.Operator) -> None:
        node = operated.node
        if isinstance(node, ast.BinOp):
            self.of_binary(node, operated)
        elif isinstance(node, ast.UnaryOp):
            self.of_unary(node, operated)
        elif isinstance(node, ast.Compare):
            self.of_comparison(node, operated)
        elif isinstance(node, (ast.MatchValue, ast.MatchSingleton)):
            subject = self.subject(self.code, operated.values[0])
            if subject is not None:
                self.flow.use(subject, "comparison", "", node)

    def of_binary(self, node: ast.BinOp, operated: ir.Operator) -> None:
        if isinstance(node.op, ast.Mod) and (is_text(node.left) or isinstance(node.right, ast.Tuple)):
            for each in (node.right, *getattr(node.right, "elts", ())):
                self.flow.use(each, "text", "%", node)
            return
        for value in operated.values:
            self.use(value, "arithmetic", type(node.op).__name__, node)
            self.add_from(value, node, Kind.MADE)
        self.run_specially(operated)

    def of_unary(self, node: ast.UnaryOp, operated: ir.Operator) -> None:
        (value,) = operated.values
        if isinstance(node.op, ast.Invert):
            self.use(value, "inverted", "", node)
        # `+x` of a tensor is the tensor: https://docs.pytorch.org/docs/stable/generated/torch.positive.html
        kind = Kind.NUMBER if isinstance(node.op, ast.Not) else Kind.SAME if isinstance(node.op, ast.UAdd) else Kind.MADE
        self.add_from(value, node, kind)
        if operated.operator != "not":
            self.run_specially(operated, node.operand)

    def of_comparison(self, node: ast.Compare, operated: ir.Operator) -> None:
        """One comparison, of a chain of them."""
        places = [place for value in operated.values if (place := self.place(value)) is not None]
        for place in places:
            self.flow.add(place, node, Kind.NUMBER)
            self.flow.use(place, "comparison", "", node)
        if len(places) < 2:
            return
        left, right = places
        if operated.operator in ("is", "is not"):
            for place in places if not any(isinstance(each, ast.Constant) for each in places) else ():
                self.flow.end(place, Sink.ASKED, node)
        elif operated.operator in ("in", "not in"):
            self.compared.append((node, [left], [right]))  # type: ignore[list-item]
        self.run_specially(operated)

    def change(self, changed: ir.InPlace) -> None:
        """The old object may be written to in place, and so may all of its aliases."""
        node = changed.node
        assert isinstance(node, ast.AugAssign)
        old = Old(node)
        read = self.giver(changed.target)
        if isinstance(read, ir.ReadName):
            self.read_variable(read, read.variable, old)
        elif isinstance(read, ir.ReadAttribute) and isinstance(node.target, ast.Attribute):
            shared = self.shared(node.target)
            if shared is not None:
                self.flow.add(shared, old, Kind.SAME, crosses=True)
            self.flow.add(Field(node.target.attr), old, Kind.SAME, crosses=True)
            self.add_from(read.object, old, Kind.OUT, f".{node.target.attr}")
        elif isinstance(read, ir.ReadItem) and isinstance(node.target, ast.Subscript):
            key = constant(node.target.slice)
            self.add_from(read.object, old, Kind.OUT, Slot.VALUE if key is None else key)
        self.add_from(changed.value, old, Kind.IN)
        self.use(changed.value, "arithmetic", type(node.op).__name__, node)
        self.flow.add(old, node, Kind.MADE)
        self.add_from(changed.value, node, Kind.MADE)
        self.flow.add(old, node, Kind.SAME)
        for asked in asked_by(changed):
            for name in asked.methods:
                writes = name.startswith("__i")
                self.special(name, [node.value if asked.object == changed.target else old], node, old if writes else None)

    def run_specially(self, operated: ir.Operator, of: Place | None = None) -> None:
        """Enter the special methods of the operands, each with the other ones. `of`: the object, where what it holds may be changed so."""
        for asked in asked_by(operated):
            others = [place for value in operated.values if value != asked.object and (place := self.place(value)) is not None]
            for name in asked.methods:
                self.special(name, others, operated.node, of)

    def call(self, called: ir.Call) -> None:
        node = called.node
        if not isinstance(node, ast.Call):
            return  # a decorator, or what the lowering has put in
        for each, argument in zip([*node.args, *(keyword.value for keyword in node.keywords)], called.arguments):
            if argument.stars == 1:
                self.add_from(argument.value, each, Kind.MADE)
        self.calls[node] = self.dotted(node.func) or ""
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            self.inside[node] = self.class_around()
        if isinstance(node.func, ast.Name) and self.is_unbound(node.func):
            self.calls[node] = self.calls[node] or node.func.id

    def make_function(self, made: ir.MakeFunction) -> None:
        node = made.body
        if isinstance(node, ast.Lambda):
            self.taken[node] = None
        if not isinstance(node, FUNCTIONS):
            return
        parameters = {each.arg: each for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        for default in made.defaults:
            self.add_from(default.value, parameters[default.name or ""], Kind.SAME, crosses=True)
        for decorator in getattr(node, "decorator_list", ()):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not self.is_transparent(called):
                self.wrapped.add(node)
                self.hand_over(decorator, node)

    def is_transparent(self, decorator: ast.expr) -> bool:
        """Whether a decorator leaves what a function returns, and when it runs, as it is."""
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "getter", "deleter"):
            return True  # of a property
        row = row_of(self.dotted(decorator) or ast.unparse(decorator))
        return row is not None and row.transparent

    # -- ways ---------------------------------------------------------------------------------------------------------

    def iterate(self, iterated: ir.Iterate) -> None:
        if isinstance(iterated.node, (ast.For, ast.AsyncFor)):
            self.iterated(iterated.node.iter, ("__iter__", "__next__"))

    def give_back(self, returned: ir.Return) -> None:
        if isinstance(self.code.node, FUNCTIONS):
            self.add_from(returned.value, Result(self.code.node), Kind.SAME)

    def hand_out(self, handed: ir.Yield) -> None:
        node = handed.node
        if handed.how is ir.Suspension.AWAIT:
            self.add_from(handed.value, node, Kind.SAME)
        elif isinstance(node, ast.YieldFrom):
            self.flow.add(node.value, Result(self.code.node), Kind.MADE)
            self.flow.add(node.value, node, Kind.MADE)
        elif isinstance(node, ast.Yield):
            self.add_from(handed.value, Result(self.code.node), Kind.IN)
            self.flow.add(SENT, node, Kind.SAME, crosses=True)
            self.flow.opaque[node] = node
        else:
            self.add_from(handed.value, node, Kind.IN)  # a generator expression

    def make_class(self, made: ir.MakeClass) -> None:
        """Note the library's classes that a class derives from, by their full names; an empty one where that is not known."""
        self.bases[made.body] = [self.dotted(base) or "" for base in made.body.bases]

    def hide(self, hidden: ir.Opaque) -> None:
        """Code that is not lowered may do anything with what it reads, and give anything to what it writes."""
        for variable in hidden.reads:
            self.read_variable(hidden, variable, hidden.node)
        self.flow.end(hidden.node, Sink.ESCAPES, hidden.node)
        self.flow.end(hidden.node, Sink.ASKED, hidden.node)
        for variable in hidden.writes:
            self.bind_variable(variable, hidden.node)
        self.flow.opaque[hidden.node] = hidden.node
        for part in subtree(hidden.node):
            name = part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""
            self.hidden.update(self.functions_named.get(name, ()) if name else ())

    def is_unbound(self, name: ast.Name) -> bool:
        """Whether nothing in sight binds a name that is read."""
        reads = (each for each in self.origins.of(name) if isinstance(each, ir.ReadName))
        return all(self.is_unknown(each.variable) for each in reads) and not any(True for _ in self.starred(name.id))


HANDLERS: dict[type[ir.Instruction], Callable[[Instructions, Any], None]] = {
    ir.Parameter: Instructions.take_parameter,
    ir.ReadName: Instructions.read_name,
    ir.WriteName: Instructions.write_name,
    ir.ReadAttribute: Instructions.read_attribute,
    ir.DeleteAttribute: Instructions.read_attribute,
    ir.WriteAttribute: Instructions.write_attribute,
    ir.ReadItem: Instructions.read_item,
    ir.DeleteItem: Instructions.read_item,
    ir.WriteItem: Instructions.write_item,
    ir.Build: Instructions.build,
    ir.Collect: Instructions.collect,
    ir.Unpack: Instructions.unpack,
    ir.Format: Instructions.format,
    ir.Enter: Instructions.enter,
    ir.Match: Instructions.match,
    ir.Raise: Instructions.raise_,
    ir.Operator: Instructions.operate,
    ir.InPlace: Instructions.change,
    ir.Call: Instructions.call,
    ir.MakeFunction: Instructions.make_function,
    ir.MakeClass: Instructions.make_class,
    ir.Iterate: Instructions.iterate,
    ir.Return: Instructions.give_back,
    ir.Yield: Instructions.hand_out,
    ir.Opaque: Instructions.hide,
}
EXITS = ("__exit__", "__aexit__")
# these move nothing: what they use stays where it is
WITHOUT_FLOW = (
    ir.Constant, ir.DeleteName, ir.Part, ir.Import, ir.Next, ir.Branch, ir.Jump, ir.Catch, ir.Exit,
)  # fmt: skip

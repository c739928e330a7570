"""The flow of a file: statements, definitions, and what each function is given by its scope."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence

from graphfix.analysis.flow.definitions import Reaching, carried, joined
from graphfix.analysis.flow.expressions import Expressions
from graphfix.analysis.flow.implicit import OPERATORS
from graphfix.analysis.flow.places import Cell, Field, Kind, Old, Place, Result, Slot
from graphfix.analysis.flow.scopes import FUNCTIONS, Scope, parameters
from graphfix.analysis.flow.spelled import constant
from graphfix.effects.rows import row_of
from graphfix.source.subtree import children, subtree


class Statements(Expressions):
    """Passes over the code of one scope; the definitions inside of it are passed over once their own turn comes."""

    def scope_body(self, scope: Scope) -> None:
        """The edges of one function, class or module."""
        self.scope = scope
        self.reaching = Reaching()
        node = scope.node
        if isinstance(node, FUNCTIONS):
            for each in parameters(node):
                self.bind_name(each.arg, each)
        if isinstance(node, ast.Lambda):
            self.expression(node.body)
            self.flow.add(node.body, Result(node), Kind.SAME)
        else:
            self.block(node.body)  # type: ignore[attr-defined]

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            method = getattr(self, f"at_{type(statement).__name__}", None)
            if method is not None:
                method(statement)
            else:
                for part in children(statement):
                    if isinstance(part, ast.expr):
                        self.expression(part)

    def bind_name(self, name: str, place: Place) -> None:
        """`name` means `place` from here on; who borrows the name may see it, too."""
        owner = self.scope.owner(name) if name not in self.scope.declared else self.declared_owner(name)
        if name in self.scope.declared or owner is not self.scope:
            if owner is not None:
                self.flow.add(place, Cell(owner.node, name), Kind.SAME, crosses=True)
            return
        self.reaching.define(name, place)
        if name in self.scope.borrowed or name in self.scope.written or isinstance(self.scope.node, ast.Module):
            self.flow.add(place, Cell(self.scope.node, name), Kind.SAME, crosses=True)
        if isinstance(self.scope.node, ast.ClassDef):
            self.flow.add(place, Field(name), Kind.SAME, crosses=True)

    def bind(self, target: ast.expr, value: Place, kind: Kind = Kind.SAME, key: Hashable = None) -> None:
        """`value` is assigned to `target`."""
        if isinstance(target, ast.Name):
            self.flow.add(value, target, kind, key)
            self.bind_name(target.id, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.flow.add(value, target, kind, key)
            starred = any(isinstance(each, ast.Starred) for each in target.elts)
            for index, each in enumerate(target.elts):
                if isinstance(each, ast.Starred):
                    self.bind(each.value, target, Kind.MADE)
                else:
                    own = None if starred else index
                    # what loops or contexts give is not what is unpacked here
                    self.bind(each, target, self.taken_as(value, target, each, own) if kind is Kind.SAME else Kind.OUT, own)
        elif isinstance(target, ast.Attribute):
            self.expression(target.value)
            if target.attr == "requires_grad":
                self.asked.append(target.value)
                self.flow.use(target.value, "attribute", target.attr, target)
            self.flow.add(value, target, kind, key)
            self.flow.add(target, Field(target.attr), Kind.SAME, crosses=True)
            self.flow.add(target, target.value, Kind.IN, f".{target.attr}")
            shared = self.shared(target)
            if shared is not None:
                self.flow.add(target, shared, Kind.SAME, crosses=True)
            self.special("__setattr__", [target], target)
            self.enter_named(target.attr, [target], target)
        elif isinstance(target, ast.Subscript):
            self.expression(target.value)
            self.expression(target.slice)
            self.flow.add(value, target, kind, key)
            self.flow.use(target.slice, "key", "", target)
            self.put_as_key(target.slice, target.value)
            self.flow.add(target, target.value, Kind.IN, constant(target.slice))
            self.special("__setitem__", [target.slice, target], target)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value, Kind.MADE)

    def bind_each(self, target: ast.expr, items: ast.expr) -> None:
        """The items of an iterable are assigned to `target`, one after the other."""
        value = self.value_of_pairs(items)
        first = target.elts[0] if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == 2 else None
        if value is not None and isinstance(first, ast.Name):
            is_mapping = isinstance(items.func, ast.Attribute) and not self.calls.get(items)  # type: ignore[attr-defined]
            if is_mapping:
                self.flow.add(value, first, Kind.OUT, Slot.KEY)
            self.bind_name(first.id, first)  # the key, or the number
            self.bind(target.elts[1], value, Kind.OUT, Slot.VALUE if is_mapping else None)  # type: ignore[attr-defined]
        else:
            self.bind(target, items, Kind.OUT)

    def value_of_pairs(self, items: ast.expr) -> ast.expr | None:
        """What holds the second values, where `items` is `x.items()` or `enumerate(x)`."""
        if not isinstance(items, ast.Call):
            return None
        if (
            isinstance(items.func, ast.Attribute)
            and items.func.attr == "items"
            and not items.args
            and "items" not in self.methods
        ):
            return items.func.value
        return items.args[0] if self.calls.get(items) == "enumerate" and items.args else None

    def at_Assign(self, node: ast.Assign) -> None:
        self.expression(node.value)
        for target in node.targets:
            self.unpack(target, node.value)

    def unpack(self, target: ast.expr, value: ast.expr) -> None:
        """`a, b = x, y` binds each for itself."""
        tuples = isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List))
        if (
            tuples
            and len(target.elts) == len(value.elts)
            and not any(isinstance(e, ast.Starred) for e in (*target.elts, *value.elts))
        ):
            for one, other in zip(target.elts, value.elts):
                self.unpack(one, other)
        else:
            self.bind(target, value)

    def at_AnnAssign(self, node: ast.AnnAssign) -> None:
        if any(isinstance(part, ast.Call) for part in subtree(node.annotation)):
            self.expression(node.annotation)  # outside of functions it is run
        if node.value is not None:
            self.expression(node.value)
            self.bind(node.target, node.value)

    def at_AugAssign(self, node: ast.AugAssign) -> None:
        """The old object may be written to in place, and so may all of its aliases."""
        self.expression(node.value)
        old = Old(node)
        if isinstance(node.target, ast.Name):
            self.read_name(node.target.id, old)
        else:
            self.expression(node.target.value)
            if isinstance(node.target, ast.Attribute):
                shared = self.shared(node.target)
                if shared is not None:
                    self.flow.add(shared, old, Kind.SAME, crosses=True)
                self.flow.add(Field(node.target.attr), old, Kind.SAME, crosses=True)
                self.flow.add(node.target.value, old, Kind.OUT, f".{node.target.attr}")
            else:
                key = constant(node.target.slice)
                self.flow.add(node.target.value, old, Kind.OUT, Slot.VALUE if key is None else key)
        self.flow.add(node.value, old, Kind.IN)
        self.flow.use(node.value, "arithmetic", type(node.op).__name__, node)
        self.flow.add(old, node, Kind.MADE)
        self.flow.add(node.value, node, Kind.MADE)
        self.flow.add(old, node, Kind.SAME)
        self.special(f"__i{OPERATORS[type(node.op)]}__", [node.value], node, old)
        self.special(f"__{OPERATORS[type(node.op)]}__", [node.value], node)
        self.bind(node.target, node)

    def at_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.expression(node.value)
            self.flow.add(node.value, Result(self.scope.node), Kind.SAME)
        self.reaching.dead = True

    def at_Raise(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.expression(part)
        self.reaching.dead = True

    def at_Break(self, node: ast.Break) -> None:
        self.reaching.leave(self.reaching.broken)

    def at_Continue(self, node: ast.Continue) -> None:
        self.reaching.leave(self.reaching.continued)

    def at_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.reaching.forget(target.id)
            else:
                self.expression(target)

    def at_If(self, node: ast.If) -> None:
        self.expression(node.test)
        self.branches([node.body, node.orelse])

    def at_Match(self, node: ast.Match) -> None:
        self.expression(node.subject)
        before, ends = self.reaching.now, []
        for case in node.cases:
            self.reaching.now, self.reaching.dead = before, False
            for part in subtree(case.pattern):
                name = getattr(part, "rest", None) or getattr(part, "name", None)
                if isinstance(part, ast.MatchClass):
                    self.flow.use(node.subject, "argument", "isinstance", part)
                elif isinstance(part, (ast.MatchValue, ast.MatchSingleton)):
                    self.flow.use(node.subject, "comparison", "", part)
                if isinstance(name, str):
                    self.flow.add(node.subject, part, Kind.SAME if part is case.pattern else Kind.MADE)
                    self.bind_name(name, part)
                for attribute in getattr(part, "kwd_attrs", ()):  # `case Tensor(requires_grad=True)`
                    self.attribute_read(node.subject, attribute, part)
            if case.guard is not None:
                self.expression(case.guard)
            self.block(case.body)
            ends += [] if self.reaching.dead else [self.reaching.now]
        self.reaching.now, self.reaching.dead = joined([before, *ends]), False

    def branches(self, sides: list[list[ast.stmt]]) -> None:
        before, dead, ends = self.reaching.now, self.reaching.dead, []
        for side in sides:
            self.reaching.now, self.reaching.dead = before, dead
            self.block(side)
            ends += [] if self.reaching.dead else [self.reaching.now]
        self.reaching.now, self.reaching.dead = joined(ends) if ends else before, not ends

    def at_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.expression(node.iter)
        self.iterated(node.iter, ("__iter__", "__next__"))
        self.loop(node, lambda: self.bind_each(node.target, node.iter))

    at_AsyncFor = at_For

    def at_While(self, node: ast.While) -> None:
        self.loop(node, lambda: self.expression(node.test))

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, enter) -> None:
        state = self.reaching
        outside = state.loops
        entry = state.now
        ends = state.left.get(node, [])
        for _ in range(1 if ends else 2):
            state.loops = (*outside, node)
            state.broken.append([])
            state.continued.append([])
            state.now = joined([entry, *(carried(end, state.made_in, node) for end in ends)])
            state.dead = False
            enter()
            at_test = state.now
            self.block(node.body)
            ends = [*state.continued.pop(), *([] if state.dead else [state.now])]
            broken = state.broken.pop()
            state.loops = outside
        state.left[node] = ends
        state.dead = False
        state.now = joined([entry, at_test, *ends])
        self.block(node.orelse)
        state.now = joined([state.now, *broken])
        state.dead = False

    def at_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.expression(item.context_expr)
            if item.optional_vars is not None:
                self.enter_named("__enter__", [], item.context_expr, item.optional_vars)
                self.bind(item.optional_vars, item.context_expr, Kind.MADE)
                self.bind(item.optional_vars, item.context_expr)
                self.bind(item.optional_vars, item.context_expr, Kind.OUT)  # what a generator yields
        self.block(node.body)

    at_AsyncWith = at_With

    def at_Try(self, node: ast.Try) -> None:
        state = self.reaching
        before = state.now
        held: list = [before]
        state.raising.append(held)
        self.block(node.body)
        state.raising.pop()
        self.block(node.orelse)
        ends = [] if state.dead else [state.now]
        for handler in node.handlers:
            state.now, state.dead = joined(held), False
            if handler.name is not None:
                self.bind_name(handler.name, handler)
            self.block(handler.body)
            ends += [] if state.dead else [state.now]
        state.now, state.dead = joined(ends or held), not ends
        if node.finalbody:
            dead = state.dead
            state.now, state.dead = joined([state.now, *held]), False
            self.block(node.finalbody)
            state.dead = state.dead or dead

    at_TryStar = at_Try

    def at_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if part is not None:
                self.expression(part)
        positional = [*node.args.posonlyargs, *node.args.args]
        pairs = [*zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults)]
        pairs += [(each, value) for each, value in zip(node.args.kwonlyargs, node.args.kw_defaults) if value is not None]
        for parameter, value in pairs:
            self.flow.add(value, parameter, Kind.SAME, crosses=True)
        self.bind_name(node.name, node)
        for decorator in node.decorator_list:
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

    at_AsyncFunctionDef = at_FunctionDef

    def at_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
            self.expression(part)
        self.bind_name(node.name, node)

    def at_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bind_name((alias.asname or alias.name).split(".")[0], alias)
            self.imported(alias, alias.name if alias.asname else alias.name.split(".")[0])

    def at_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            self.bind_name(alias.asname or alias.name, alias)
            self.imported_from(alias, module)

    def at_Expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

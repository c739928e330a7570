"""Which variable each name means (https://docs.python.org/3/reference/executionmodel.html#naming-and-binding).

A variable is one object, wherever it is read: a function that reads a name of the function around it has the same
`Variable` in its instructions as that one.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator
from dataclasses import field

from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import children

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# these are code objects of their own; other comprehensions run inside of the code that they stand in
CODES = (*FUNCTIONS, ast.ClassDef, ast.GeneratorExp, ast.Module)
# what has a scope of its own, or binds in another one; what binds names that are no nodes
SCOPING = frozenset((*FUNCTIONS, ast.ClassDef, *COMPREHENSIONS, ast.NamedExpr))
BINDING = frozenset(
    (ast.Global, ast.Nonlocal, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping, ast.AnnAssign)
)


class Home(enum.Enum):
    """Where a variable lives."""

    LOCAL = "in one call of one code object"
    CELL = "in one call, and in the functions that were made there"
    CLASS = "in the body of a class"
    GLOBAL = "in the module, or else among Python's builtins"
    TEMPORARY = "in one call, for the lowering alone"

    __hash__ = object.__hash__


@dataclass(slots=True, eq=False)
class Variable:
    """`owner`: the syntax of the code object whose variable it is."""

    name: str
    home: Home
    owner: ast.AST

    def __repr__(self) -> str:
        return f"<{self.home.name.lower()} {self.name}>"


@dataclass(slots=True, eq=False)
class Scope:
    """A region of the text in which a name means one thing: a module, class, function or comprehension.

    `code`: the syntax of the code object that it belongs to. `walruses`: the names that a comprehension
    binds around it, by `:=`. `private`: the class whose private names (`__x`) are spelled here.
    """

    node: ast.AST
    outer: Scope | None
    code: ast.AST
    name: str
    private: str
    bound: dict[str, None] = field(default_factory=dict)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    walruses: set[str] = field(default_factory=set)
    used: dict[str, None] = field(default_factory=dict)
    own: dict[str, Variable] = field(default_factory=dict)
    known: dict[str, Variable] = field(default_factory=dict)

    def spelled(self, name: str) -> str:
        """A name as it is kept: a private one of a class with the name of the class."""
        if not self.private or not name.startswith("__") or name.endswith("__") or "." in name:
            return name
        return f"_{self.private}{name}"

    def variable(self, name: str) -> Variable:
        """What a name means here."""
        known = self.known.get(name)
        if known is None:
            self.known[name] = known = self._found(self.spelled(name))
        return known

    def _found(self, name: str) -> Variable:
        module = self.module
        if name in self.globals:
            return module.of_own(name)
        if name in self.bound and name not in self.nonlocals:
            return self.of_own(name)
        above = self.outer
        while above is not None and above is not module:
            if isinstance(above.node, ast.ClassDef):
                if name == "__class__":
                    return above.class_cell()
            elif name in above.globals:
                break
            elif name in above.bound and name not in above.nonlocals:
                return above.of_own(name)
            above = above.outer
        return module.of_own(name)

    @property
    def module(self) -> Scope:
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope

    def of_own(self, name: str) -> Variable:
        """The variable of this scope that has this name."""
        found = self.own.get(name)
        if found is None:
            home = Home.LOCAL
            if isinstance(self.node, ast.Module):
                home = Home.GLOBAL
            elif isinstance(self.node, ast.ClassDef):
                home = Home.CLASS
            self.own[name] = found = Variable(name, home, self.code)
        return found

    def class_cell(self) -> Variable:
        """`__class__`, which the methods of a class read."""
        found = self.own.get("__class__ of methods")
        if found is None:
            found = self.own["__class__ of methods"] = Variable("__class__", Home.CELL, self.code)
        return found

    def captured(self) -> list[Variable]:
        """Its variables that functions which are made in it read, or write."""
        return [variable for variable in self.own.values() if variable.home is Home.CELL]


def scopes_of(tree: ast.Module) -> dict[ast.AST, Scope]:
    """The scope of each module, class, function and comprehension of a file."""
    scope = Scope(tree, None, tree, "", "")
    found: dict[ast.AST, Scope] = {tree: scope}
    pending: list[ast.AST | Scope] = [*reversed(tree.body)]  # a scope among nodes is that of those behind it
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is ast.Name:
            _named(node.id, node.ctx, scope)  # type: ignore[union-attr]
        elif kind is Scope:
            scope = node  # type: ignore[assignment]
        elif kind in SCOPING or kind in BINDING:
            pending.append(scope)
            for part, where in reversed(_note(node, scope, found)):  # type: ignore[arg-type]
                pending += (part, where)
        else:
            below = children(node)  # type: ignore[arg-type]
            below.reverse()
            pending += below
    for scope in found.values():
        for name in scope.used:
            variable = scope.variable(name)
            if variable.owner is not scope.code and variable.home is Home.LOCAL:
                variable.home = Home.CELL
    return found


def parameters(node: ast.AST) -> list[ast.arg]:
    """All parameters of a function in order, those with stars at the end."""
    if not isinstance(node, FUNCTIONS):
        return []
    given = node.args
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def _note(node: ast.AST, scope: Scope, found: dict[ast.AST, Scope]) -> list[tuple[ast.AST, Scope]]:
    """What a node that binds names, or has a scope, says of them; what lies below it, each with its scope."""
    if type(node) in BINDING:
        _bindings(node, scope)
        if isinstance(node, ast.AnnAssign) and _declares_nothing(node):
            return [(node.annotation, scope)]
        return [(part, scope) for part in children(node)]
    if isinstance(node, FUNCTIONS):
        return _function(node, scope, found)
    if isinstance(node, ast.ClassDef):
        scope.bound[scope.spelled(node.name)] = scope.used[node.name] = None
        found[node] = inner = Scope(node, scope, node, _qualified(scope, node.name), node.name.lstrip("_"))
        outside = [*node.decorator_list, *node.bases, *node.keywords]
        return [*((part, scope) for part in outside), *((part, inner) for part in node.body)]
    if isinstance(node, COMPREHENSIONS):
        return _comprehension(node, scope, found)
    assert isinstance(node, ast.NamedExpr)
    _walrus(node.target.id, scope)
    return [(node.value, scope)]


def _declares_nothing(node: ast.AnnAssign) -> bool:
    """`(x): int`, where a name in brackets gets no value."""
    return not node.simple and node.value is None and isinstance(node.target, ast.Name)


def _named(name: str, context: ast.expr_context, scope: Scope) -> None:
    scope.used[name] = None
    if not isinstance(context, ast.Load):
        scope.bound[scope.spelled(name)] = None
    elif name == "super":
        scope.used["__class__"] = None


def _bindings(node: ast.AST, scope: Scope) -> None:
    """Names that a node binds or declares, and that are no nodes themselves."""
    names = names_bound(node)
    if isinstance(node, ast.Global):
        scope.globals.update(map(scope.spelled, node.names))
        names = node.names
    elif isinstance(node, ast.Nonlocal):
        scope.nonlocals.update(map(scope.spelled, node.names))
        names = node.names
    elif isinstance(node, ast.AnnAssign) and node.simple and not isinstance(scope.node, FUNCTIONS):
        names = ["__annotations__"]
    for name in names:
        scope.bound[scope.spelled(name)] = scope.used[name] = None


def names_bound(node: ast.AST) -> list[str]:
    """The names that a node binds itself, and that are no nodes below it."""
    name: str | None = None
    if isinstance(node, ast.alias):
        name = (node.asname or node.name).split(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        name = node.name
    elif isinstance(node, ast.MatchMapping):
        name = node.rest
    return [name] if name is not None and name != "*" else []


def within(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of `parts` that run with them, and in no function of their own."""
    pending = list(parts)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, CODES):
            pending += ast.iter_child_nodes(node)


def _function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: Scope, found: dict[ast.AST, Scope]
) -> list[tuple[ast.AST, Scope]]:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if not isinstance(node, ast.Lambda):
        scope.bound[scope.spelled(name)] = scope.used[name] = None
    found[node] = inner = Scope(node, scope, node, _qualified(scope, name), scope.private)
    given = parameters(node)
    for each in given:
        inner.bound[inner.spelled(each.arg)] = inner.used[each.arg] = None
    outside: list[ast.AST] = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    if not isinstance(node, ast.Lambda):
        outside += [*node.decorator_list, *(each.annotation for each in given if each.annotation is not None)]
        outside += [node.returns] if node.returns is not None else []
    return [*((part, scope) for part in outside), *((part, inner) for part in body)]


def _comprehension(node: ast.AST, scope: Scope, found: dict[ast.AST, Scope]) -> list[tuple[ast.AST, Scope]]:
    """The first iterable is looked at outside; a comprehension that is no generator belongs to the code around it."""
    code = node if isinstance(node, ast.GeneratorExp) else scope.code
    found[node] = inner = Scope(node, scope, code, _qualified(scope, "<genexpr>"), scope.private)
    generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
    below: list[tuple[ast.AST, Scope]] = [(generators[0].iter, scope)]
    for generator in generators:
        later = [] if generator is generators[0] else [generator.iter]
        below += [(part, inner) for part in (generator.target, *later, *generator.ifs)]
    if isinstance(node, ast.DictComp):
        return [*below, (node.key, inner), (node.value, inner)]
    return [*below, (node.elt, inner)]  # type: ignore[attr-defined]


def _walrus(name: str, scope: Scope) -> None:
    """`name := value` binds outside of comprehensions, and is read in the scopes between."""
    while isinstance(scope.node, COMPREHENSIONS) and scope.outer is not None:
        scope.used[name] = None
        scope.walruses.add(scope.spelled(name))
        scope = scope.outer
    scope.used[name] = scope.bound[scope.spelled(name)] = None


def _qualified(scope: Scope, name: str) -> str:
    """The name by which Python calls a definition in this scope."""
    if name in scope.globals:
        return name
    above: Scope | None = scope
    while above is not None and not isinstance(above.node, CODES):
        above = above.outer
    if above is None or above.outer is None:
        return name
    return f"{above.name}.{name}" if isinstance(above.node, ast.ClassDef) else f"{above.name}.<locals>.{name}"

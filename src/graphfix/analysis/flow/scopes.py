"""Which scope each name of a function belongs to (https://docs.python.org/3/reference/executionmodel.html#naming-and-binding)."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from graphfix.source.subtree import children, kept_with_node

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Module)


@dataclass(eq=False)
class Scope:
    """A module, class or function: the names that it binds, those that it borrows, and those that others borrow from it.

    `borrowed`: names that an inner scope reads; `written`: names that one declares and writes.
    """

    node: ast.AST
    outer: Scope | None
    bound: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    borrowed: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)

    def owner(self, name: str) -> Scope | None:
        """The scope that `name` belongs to where this one reads it; None for what only Python's builtins know."""
        if name in self.bound:
            return self
        above = self.outer
        while above is not None:
            if name in above.bound and not isinstance(above.node, ast.ClassDef):
                return above
            above = above.outer
        return None


@kept_with_node
def scopes_of(tree: ast.Module) -> dict[ast.AST, Scope]:
    """The scope of each module, class and function of a file."""
    found: dict[ast.AST, Scope] = {}
    reads: list[tuple[Scope, str]] = []
    _visit(tree, Scope(tree, None), found, reads)
    for scope in list(found.values()):
        for name in scope.declared:
            above = scope.outer
            while above is not None and (name not in above.bound or isinstance(above.node, ast.ClassDef)) and above.outer:
                above = above.outer
            if above is not None:
                above.bound.add(name)
                above.written.add(name)
    for scope, name in reads:
        owner = scope.owner(name)
        if owner is not None and owner is not scope:
            owner.borrowed.add(name)
    return found


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    """All parameters in order, those with stars at the end."""
    given = function.args
    starred = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *starred]


def _visit(node: ast.AST, scope: Scope, found: dict[ast.AST, Scope], reads: list[tuple[Scope, str]]) -> None:
    found[node] = scope
    if isinstance(node, FUNCTIONS):
        scope.bound.update(each.arg for each in parameters(node))
        pending: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    else:
        pending = list(node.body)  # type: ignore[attr-defined]
    while pending:
        part = pending.pop()
        _note(part, scope, reads)
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            pending.extend(_outside(part))
            _visit(part, Scope(part, scope), found, reads)
        else:
            pending.extend(children(part))
    scope.bound -= scope.declared


def _outside(part: ast.AST) -> list[ast.AST]:
    """What of a definition is computed in the scope around it."""
    if isinstance(part, ast.ClassDef):
        return [*part.decorator_list, *part.bases, *part.keywords]
    defaults = [each for each in (*part.args.defaults, *part.args.kw_defaults) if each is not None]  # type: ignore[attr-defined]
    return [*getattr(part, "decorator_list", ()), *defaults]


def _note(part: ast.AST, scope: Scope, reads: list[tuple[Scope, str]]) -> None:
    if isinstance(part, ast.Name):
        if isinstance(part.ctx, ast.Load):
            reads.append((scope, part.id))
        else:
            scope.bound.add(part.id)
    elif isinstance(part, (ast.Global, ast.Nonlocal)):
        scope.declared.update(part.names)
        reads.extend((scope, name) for name in part.names)
    elif isinstance(part, ast.alias):
        scope.bound.add((part.asname or part.name).split(".")[0])
    elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        scope.bound.add(part.name)
    elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name is not None:
        scope.bound.add(part.name)
    elif isinstance(part, ast.MatchMapping) and part.rest is not None:
        scope.bound.add(part.rest)

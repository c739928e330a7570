"""Which functions of a file lead to which others, by the names that they spell: one pass over the file, then one over the names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphfix.source.subtree import children, kept_with_node, subtree

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def word(node: ast.AST) -> str:
    """The name that a name or attribute is spelled with."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@kept_with_node
def spelled_in(code: ast.AST) -> frozenset[str]:
    """The names of attributes and variables in a piece of code."""
    parts = (part for part in subtree(code) if isinstance(part, (ast.Attribute, ast.Name)))
    return frozenset(part.attr if isinstance(part, ast.Attribute) else part.id for part in parts)


def forms(node: ast.AST) -> tuple[str, ...]:
    """The word that a node spells, in each form that tells.

    `x`; `.x` as an attribute; `x()` where it is called, `.x()` as a method; `x=` as a keyword that is not off, or as an attribute that is
    set; `.x[]` where an item of the attribute is taken.
    """
    kind = type(node)
    if kind is ast.Name:
        return (node.id,)  # type: ignore[attr-defined]
    if kind is ast.Attribute:
        name = node.attr  # type: ignore[attr-defined]
        return (name, f".{name}") if type(node.ctx) is not ast.Store else (name, f".{name}", f"{name}=")  # type: ignore[attr-defined]
    if kind is ast.Call:
        called = node.func  # type: ignore[attr-defined]
        return (f"{called.attr}()", f".{called.attr}()") if type(called) is ast.Attribute else (f"{word(called)}()",)
    if kind is ast.keyword:
        return (f"{node.arg}=",) if not is_false(node.value) else ()  # type: ignore[attr-defined]
    if kind is ast.Subscript:
        return tuple(f".{name}[]" for name in _attributes_below(node.value))  # type: ignore[attr-defined]
    return ()


def is_false(node: ast.expr) -> bool:
    """Whether an expression is `False` as it is written."""
    return type(node) is ast.Constant and node.value is False


def _attributes_below(node: ast.expr) -> Iterator[str]:
    """The attributes through which an expression leads, as in `loss.data.cpu()`."""
    while isinstance(node, (ast.Attribute, ast.Call)):
        if isinstance(node, ast.Attribute):
            yield node.attr
            node = node.value
        else:
            node = node.func


def forms_in(code: Iterable[ast.AST]) -> set[str]:
    """All words in a piece of code, in all their forms."""
    return {form for part in code for node in subtree(part) for form in forms(node)}


Definition = ast.FunctionDef | ast.AsyncFunctionDef
Binding = ast.Assign | ast.AnnAssign | ast.ClassDef


@dataclass(eq=False)
class Scope:
    """What a piece of code spells. The variables of a function (`bound`) mean nothing outside of it, whatever is called like them there.

    `words`: in all their forms, but for the names of variables; `names`: these; `shared`: those that it shares with the code around it.
    """

    around: Scope | None
    is_function: bool = False
    words: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    def end(self) -> None:
        """Once all of it has been seen, those in it ended: what it spells belongs to the code around it, too."""
        free = self.names - (self.bound - self.shared) if self.is_function else self.names
        if self.around is not None:
            self.around.words |= self.words
            self.around.names |= free
        self.words |= free


class CallGraph:
    """The functions of a file, and the words in each, in all their forms."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = [part for part in tree.body if isinstance(part, ast.ClassDef)]
        self.words: dict[Definition, set[str]] = {}  # what each function spells, those inside of it included
        self.bound: dict[Binding, set[str]] = {}  # the same of what is bound outside of functions
        self.class_of: dict[ast.AST, ast.ClassDef] = {}
        self.spelled: set[str] = set()  # anywhere in the file
        self._look(tree)
        for name, imported in renamed(tree).items():
            for spelled in self.words.values():
                spelled.update((imported, f"{imported}()") if f"{name}()" in spelled else ())

    def _look(self, tree: ast.Module) -> None:
        """Pass over the file once: each node counts for the innermost function, and that for those around it."""
        module = Scope(None, words=self.spelled)
        scopes = [module]
        pending: list[tuple[ast.AST, Scope]] = [(tree, module)]
        while pending:
            node, scope = pending.pop()
            kind = type(node)
            if kind is ast.Name:
                (scope.bound if type(node.ctx) is ast.Store else scope.names).add(node.id)  # type: ignore[attr-defined]
                continue
            opened = self._opened(node, scope)
            if opened is not None:
                scope = opened
                scopes.append(scope)
            elif kind is ast.Global or kind is ast.Nonlocal:
                scope.shared.update(node.names)  # type: ignore[attr-defined]
            scope.words.update(forms(node))
            for child in _running(node):
                pending.append((child, scope))
        for scope in reversed(scopes):
            scope.end()

    def _opened(self, node: ast.AST, around: Scope) -> Scope | None:
        """The scope of what a node defines or binds; a class in a function, and what it binds, count for the function."""
        scope = None
        if isinstance(node, FUNCTIONS):
            scope = Scope(around, is_function=True)
            # a default is what the name means outside
            given = {name for default in (*node.args.defaults, *node.args.kw_defaults) if default for name in spelled_in(default)}
            scope.bound.update(each.arg for each in subtree(node.args) if isinstance(each, ast.arg) and each.arg not in given)
            self.words[node] = scope.words
        elif isinstance(node, ast.ClassDef):
            self.class_of.update((part, node) for part in node.body if isinstance(part, FUNCTIONS))
            if not around.is_function:
                self.bound[node] = forms_in((*node.bases, *node.keywords))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and not around.is_function:
            scope = Scope(around)
            self.bound[node] = scope.words
        return scope

    @cached_property
    def spelling(self) -> dict[str, list[ast.AST]]:
        """The functions that spell each word."""
        return _by_word(self.words)

    @cached_property
    def spelling_outside(self) -> dict[str, list[ast.AST]]:
        """What is bound outside of functions by each word that it spells."""
        return _by_word(self.bound)

    def leading_to(self, wanted: Collection[str], steps: int | None = None, *, through_variables: bool = False) -> set[ast.AST]:
        """The functions that spell one of the `wanted` words, or name a function or class which leads to one.

        `steps`: only so many calls away from the word. `through_variables`: or a variable of the file; these are part of the answer.
        """
        found: set[ast.AST] = set()
        asked = set(wanted)
        level = set(wanted)
        while level and (steps is None or steps >= 0):
            spelling = [part for each in level for part in self.spelling.get(each, ())]
            if through_variables:
                spelling += [part for each in level for part in self.spelling_outside.get(each, ())]
            new = set(spelling) - found
            found |= new
            level = {name for part in new for name in self.names_of(part)} - asked
            asked |= level
            steps = None if steps is None else steps - 1
        return found

    def offered(self, parts: Collection[ast.AST]) -> set[str]:
        """The names of the module by which other files come to these parts, or to an object that has one."""
        found: set[str] = set()
        for part in self.classes:
            found.update([part.name] if any(each in parts for each in part.body) else ())
        methods = self.class_of.keys()
        return found.union(*(self.names_of(part) for part in parts if part not in methods))

    def names_of(self, part: ast.AST) -> set[str]:
        """The words by which other code comes to a function or method, or to what is bound; who makes an object names its class."""
        if isinstance(part, FUNCTIONS):
            if part not in self.class_of:
                return {part.name}
            return {self.class_of[part].name} if part.name == "__init__" else {f".{part.name}"}
        if isinstance(part, ast.ClassDef):
            return {part.name}
        targets = part.targets if isinstance(part, ast.Assign) else [part.target]  # type: ignore[attr-defined]
        return {word(each) for target in targets for each in subtree(target)} - {""}


def renamed(tree: ast.Module) -> dict[str, str]:
    """What a file calls otherwise than the module that it imports it from."""
    imports = (part for part in subtree(tree) if isinstance(part, ast.ImportFrom))
    return {alias.asname: alias.name for part in imports for alias in part.names if alias.asname not in (None, alias.name)}


def _running(node: ast.AST) -> list[ast.AST]:
    """The nodes below that may bring something in.

    No annotations, no classes that an object is asked for, no variables of a comprehension, and not the `nn` of a function.
    """
    if isinstance(node, ast.Attribute) and node.attr == "functional" and word(node.value) == "nn":
        return []
    if isinstance(node, ast.comprehension):
        return [node.iter, *node.ifs]
    below = children(node)
    if isinstance(node, (ast.AnnAssign, ast.arg)):
        return [each for each in below if each is not node.annotation]
    if isinstance(node, FUNCTIONS):
        return [each for each in below if each is not node.returns]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass"):
        return list(node.args[:1])
    return below


def _by_word(code: Mapping[Any, set[str]]) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for part, words in code.items():
        for each in words:
            found.setdefault(each, []).append(part)
    return found

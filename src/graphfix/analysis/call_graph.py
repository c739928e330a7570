"""Which functions of a file lead to which others, by the names that they spell: one pass over the file, then one over the names."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graphfix.analysis.receivers import Receiver, Receivers, receiver_of, targets_of
from graphfix.models.words import INITIALISERS, anyhow
from graphfix.source.subtree import children, kept_with_node, subtree

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ITEM = "[0]"
SET = "="
# what is written into it is nothing that is read out of a graph
WRITTEN_THROUGH = "data"
WORKS_IN_PLACE = re.compile(r"\w*[^_]_")
# what defines or binds
OPENING = frozenset((*FUNCTIONS, ast.ClassDef, ast.Assign, ast.AnnAssign))
BINDING = frozenset(
    (
        ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.comprehension, ast.ExceptHandler, ast.Lambda,
        ast.MatchAs, ast.MatchStar, ast.MatchMapping,
    )
)  # fmt: skip
SPELLING = frozenset((ast.Call, ast.keyword, ast.Subscript))
WRITING = frozenset((ast.Attribute, ast.Subscript, ast.Call))
PARTLY_RUNNING = frozenset((*FUNCTIONS, ast.Attribute, ast.comprehension, ast.AnnAssign, ast.arg, ast.Call))


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

    `x` as a name; `.x` as an attribute; `x()` or `.x()` where it is called; `x=` as a keyword that is not off, or as an attribute that is
    set; `.x[]` where an item of the attribute is taken that may be its first; `ITEM` where one is taken by its number. A `CallGraph` has
    `SET`, too, for any attribute or item that is set, and another word for `.x` where it knows whose the attribute is.
    """
    kind = type(node)
    if kind is ast.Name:
        return (node.id,)  # type: ignore[attr-defined]
    if kind is ast.Attribute:
        name = node.attr  # type: ignore[attr-defined]
        return (f".{name}",) if type(node.ctx) is not ast.Store else (f".{name}", f"{name}=")  # type: ignore[attr-defined]
    if kind is ast.Call:
        called = node.func  # type: ignore[attr-defined]
        return (f".{called.attr}()",) if type(called) is ast.Attribute else (f"{word(called)}()",)
    if kind is ast.keyword:
        return (f"{node.arg}=",) if not is_false(node.value) else ()  # type: ignore[attr-defined]
    if kind is ast.Subscript:
        index = node.slice  # type: ignore[attr-defined]
        by_number = type(index) is ast.Constant and type(index.value) is int
        taken = [f".{name}[]" for name in _attributes_below(node.value)] if may_be_first(index) else []  # type: ignore[attr-defined]
        return (*taken, ITEM) if by_number else tuple(taken)
    return ()


def is_false(node: ast.expr) -> bool:
    """Whether an expression is `False` as it is written."""
    return type(node) is ast.Constant and node.value is False


def may_be_first(index: ast.expr) -> bool:
    """Whether an index may be the number 0: it is that, or computed."""
    if isinstance(index, ast.Constant):
        return index.value == 0
    return not isinstance(index, (ast.Slice, ast.Tuple, ast.UnaryOp))


def _attributes_below(node: ast.expr) -> Iterator[str]:
    """The methods through which an expression leads, and the attribute of which they are asked, as in `loss.data.cpu()`."""
    while isinstance(node, ast.Call):
        node = node.func
        if isinstance(node, ast.Attribute):
            yield node.attr
            node = node.value
    if isinstance(node, ast.Attribute):
        yield node.attr


def forms_in(code: Iterable[ast.AST]) -> set[str]:
    """All words in a piece of code, in all their forms."""
    return {form for part in code for node in subtree(part) for form in forms(node)}


Definition = ast.FunctionDef | ast.AsyncFunctionDef
Binding = ast.Assign | ast.AnnAssign | ast.ClassDef


@dataclass(eq=False)
class Scope:
    """What a piece of code spells. The variables of a function (`bound`) mean nothing outside of it, whatever is called like them there.

    `words`: in all their forms, but for the names of variables and for attributes; `names`: the former; `attributes`: the latter, with what
    they are asked of, and whether they are called; `shared`: the names that it shares with the code around it.
    `owner`, `own`: the class of a method, and what the method calls its object.
    """

    around: Scope | None
    is_function: bool = False
    owner: ast.ClassDef | None = None
    own: str | None = None
    words: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    attributes: set[tuple[Receiver, str, bool]] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)

    def end(self, meant: Callable[[Receiver, str], str]) -> None:
        """Once all of it has been seen, those in it ended: what it spells belongs to the code around it, too, if that is no module."""
        for receiver, attribute, is_called in self.attributes:
            name = meant(receiver, attribute)
            self.words.add(f"{name}()" if is_called else name)
        free = self.names - (self.bound - self.shared) if self.is_function else self.names
        if self.around is not None and (self.around.is_function or not self.is_function):
            self.around.words |= self.words
            self.around.names |= free
        self.words |= free

    def receiver_of(self, attribute: ast.Attribute) -> Receiver:
        """What an attribute in this scope is asked of."""
        return receiver_of(attribute.value, self.owner, self.own)


class CallGraph:
    """The functions of a file and the file itself, and the words in each, in all their forms."""

    def __init__(self, tree: ast.Module) -> None:
        self.classes = [part for part in tree.body if isinstance(part, ast.ClassDef)]
        self.receivers = Receivers(self.classes)
        # what each function spells, those inside of it included, and the file outside of functions
        self.words: dict[Definition | ast.Module, set[str]] = {}
        self.bound: dict[Binding, set[str]] = {}  # the same of what is bound outside of functions
        self.class_of: dict[ast.AST, ast.ClassDef] = {}  # of what stands in a class
        self.imports: list[ast.Import | ast.ImportFrom] = []
        self._look(tree)
        for name, imported in renamed(self.imports).items():
            for spelled in self.words.values():
                spelled.update((imported, f"{imported}()") if f"{name}()" in spelled else ())

    def _look(self, tree: ast.Module) -> None:
        """Pass over the file once: each node counts for the innermost function, and that for those around it."""
        module = Scope(None)
        self.words[tree] = module.words
        scopes = [module]
        written: set[ast.AST] = set()
        pending: list[tuple[ast.AST, Scope]] = [(tree, module)]
        while pending:
            node, scope = pending.pop()
            kind = type(node)
            if kind is ast.Name:
                if type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                    scope.bound.add(node.id)  # type: ignore[attr-defined]
                    self.receivers.rebound.add(node.id)  # type: ignore[attr-defined]
                else:
                    scope.names.add(node.id)  # type: ignore[attr-defined]
                continue
            below = _running(node) if kind in PARTLY_RUNNING else children(node)
            target = written_by(node, node in written) if kind in WRITING else None
            if target is not None:
                written.add(target)
            if kind is ast.Attribute:
                self._note_attribute(node, scope, node in written)  # type: ignore[arg-type]
            elif kind is ast.Call and type(node.func) is ast.Attribute:  # type: ignore[attr-defined]
                scope.attributes.add((scope.receiver_of(node.func), node.func.attr, True))  # type: ignore[attr-defined]
            elif kind is ast.Subscript and type(node.ctx) is ast.Store:  # type: ignore[attr-defined]
                scope.words.add(SET)
            elif kind in SPELLING and (target is None or kind is ast.Call):
                scope.words.update(forms(node))
            elif kind in OPENING:
                around = scope
                scope, below = self._opened(node, scope, below)
                if scope is not around:
                    scopes.append(scope)
                    if scope.is_function and not around.is_function:
                        pending.extend((each, around) for each in outside_of(node))  # type: ignore[arg-type]
            elif kind in BINDING:
                self._note_binding(node, scope)
            for child in below:
                pending.append((child, scope))
        for scope in reversed(scopes):
            scope.end(self.receivers.meant)

    def _note_binding(self, node: ast.AST, scope: Scope) -> None:
        """A node that binds names without spelling them as variables."""
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            scope.shared.update(node.names)
            return
        self.receivers.see(node)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports.append(node)

    def _note_attribute(self, node: ast.Attribute, scope: Scope, is_written: bool) -> None:
        receiver = scope.receiver_of(node)
        is_set = type(node.ctx) is ast.Store
        if node.attr != WRITTEN_THROUGH or not (is_written or is_set):
            scope.attributes.add((receiver, node.attr, False))
        if is_set:
            scope.words.update((f"{node.attr}=", SET))
            self.receivers.stored.add((receiver, node.attr))

    def _opened(self, node: ast.AST, around: Scope, below: list[ast.AST]) -> tuple[Scope, list[ast.AST]]:
        """The scope of what a node defines or binds, and what belongs to it; a class in a function, and what it binds, count for that."""
        scope = around
        if isinstance(node, FUNCTIONS):
            cls = self.class_of.get(node)
            arguments = {each.arg for each in subtree(node.args) if isinstance(each, ast.arg)}
            self.receivers.rebound |= {node.name, *arguments}
            scope = Scope(around, True, around.owner, around.own if around.own not in arguments else None)
            if cls is not None:
                scope.owner, scope.own = cls, called_by(node)
            # a default is what the name means outside
            given = {name for default in (*node.args.defaults, *node.args.kw_defaults) if default for name in spelled_in(default)}
            scope.bound |= arguments - given
            self.words[node] = scope.words
        elif isinstance(node, ast.ClassDef):
            self.class_of.update((part, node) for part in node.body if isinstance(part, (*FUNCTIONS, ast.Assign, ast.AnnAssign)))
            if around.is_function:
                self.receivers.rebound.add(node.name)
            else:
                self.bound[node] = forms_in((*node.bases, *node.keywords))
                below = [*node.decorator_list, *node.body]  # to inherit from a module is not to run it
        elif not around.is_function:
            scope = Scope(around)
            self.bound[node] = scope.words  # type: ignore[index]
        return scope, below

    @cached_property
    def definitions(self) -> list[Definition]:
        return [part for part in self.words if not isinstance(part, ast.Module)]

    @cached_property
    def spelled(self) -> set[str]:
        """What is spelled anywhere in the file."""
        return set().union(*self.words.values(), *self.bound.values())

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
        asked = anyhow(wanted)
        level = asked
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

    @cached_property
    def _named(self) -> dict[str, list[ast.AST]]:
        """What the file defines and binds by each word that comes to it."""
        found: dict[str, list[ast.AST]] = {}
        for part in (*self.words, *self.bound):
            for name in self.names_of(part):
                found.setdefault(name, []).append(part)
        return found

    def within_reach(self, parts: Iterable[ast.AST], words: Iterable[str] = ()) -> set[str]:
        """The words of these parts, `words`, and those of all that they lead to, which all methods of an object belong to."""
        found = set(words)
        seen: set[ast.AST] = set()
        pending = [*parts, *(part for each in found for part in self._named.get(each, ()))]
        while pending:
            part = pending.pop()
            if part in seen:
                continue
            seen.add(part)
            spelled = self.words.get(part) or self.bound.get(part) or set()  # type: ignore[call-overload]
            for each in spelled - found:
                pending.extend(self._named.get(each, ()))
            found |= spelled
            cls = part if isinstance(part, ast.ClassDef) else self.class_of.get(part)
            pending.extend((cls, *cls.body) if cls is not None else ())
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
        cls = self.class_of.get(part)
        if isinstance(part, ast.Module):
            return set()
        if isinstance(part, ast.ClassDef):
            return {part.name}
        if isinstance(part, FUNCTIONS):
            return self._names(cls, part.name)
        found: set[str] = set()
        for each in targets_of(part):  # type: ignore[arg-type]
            if isinstance(each, ast.Name):
                found |= {each.id} | self._names(cls, each.id)
            elif isinstance(each, ast.Attribute):
                found |= {f".{each.attr}", self.receivers.meant(receiver_of(each.value), each.attr)}
        return found

    def _names(self, cls: ast.ClassDef | None, name: str) -> set[str]:
        if cls is None:
            return {name}
        return {cls.name if name == "__init__" else f".{name}", self.receivers.of_class(cls, name)}


def written_by(node: ast.AST, is_written: bool) -> ast.AST | None:
    """Into the content of what a node writes and reads nothing: of what works in place, and what an item is assigned or added to.

    `is_written`: whether another one writes into its own content.
    """
    kind = type(node)
    if kind is ast.Attribute and WORKS_IN_PLACE.fullmatch(node.attr):  # type: ignore[attr-defined]
        return node.value  # type: ignore[attr-defined]
    if kind is ast.Subscript and (is_written or type(node.ctx) is ast.Store):  # type: ignore[attr-defined]
        return node.value  # type: ignore[attr-defined]
    if kind is ast.Call and node.args and word(node.func) in INITIALISERS:  # type: ignore[attr-defined]
        return node.args[0]  # type: ignore[attr-defined]
    return None


def renamed(imports: Iterable[ast.Import | ast.ImportFrom]) -> dict[str, str]:
    """What a file calls otherwise than the module that it imports it from."""
    names = (alias for part in imports if isinstance(part, ast.ImportFrom) for alias in part.names)
    return {alias.asname: alias.name for alias in names if alias.asname not in (None, alias.name)}


def called_by(method: Definition) -> str | None:
    """What a method calls its object, or its class."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    is_static = any(word(decorator) == "staticmethod" for decorator in method.decorator_list)
    return arguments[0].arg if arguments and not is_static else None


def outside_of(function: Definition) -> list[ast.expr]:
    """What runs when a function is defined."""
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return [*function.decorator_list, *(default for default in defaults if default is not None)]


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

"""Which functions of a file lead to which others, by the names that they spell: one pass over the file, then one over the names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from graphfix.source.subtree import children, subtree

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def word(node: ast.AST) -> str:
    """The name that a name or attribute is spelled with."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def spelled_in(expression: ast.AST) -> set[str]:
    """The names of attributes and variables in a piece of code."""
    return {
        part.attr if isinstance(part, ast.Attribute) else part.id
        for part in subtree(expression)
        if isinstance(part, (ast.Attribute, ast.Name))
    }


def forms(node: ast.AST) -> Iterator[str]:
    """The word that a node spells, in each form that tells: `x`, `.x` as an attribute, `x()` where it is called, `x=` as a keyword."""
    if isinstance(node, ast.Call):
        yield f"{word(node.func)}()"
    elif isinstance(node, ast.Attribute):
        yield node.attr
        yield f".{node.attr}"
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.keyword):
        yield f"{node.arg}="


def forms_in(code: Iterable[ast.AST]) -> set[str]:
    """All words in a piece of code, in all their forms."""
    return {form for part in code for node in subtree(part) for form in forms(node)}


class CallGraph:
    """The functions of a file, and the words in each, in all their forms."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def words(self) -> dict[ast.FunctionDef | ast.AsyncFunctionDef, set[str]]:
        """What each function spells, those inside of it included."""
        found: dict[ast.FunctionDef | ast.AsyncFunctionDef, set[str]] = {}
        pending: list[tuple[ast.AST, tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]]] = [(self.tree, ())]
        while pending:
            node, around = pending.pop()
            if isinstance(node, FUNCTIONS):
                around = (*around, node)
                found[node] = set()
            for function in around:
                found[function].update(forms(node))
            pending.extend((child, around) for child in children(node))
        for name, imported in self.renamed.items():
            for spelled in found.values():
                spelled.update({imported, f"{imported}()"} if f"{name}()" in spelled else ())
        return found

    @cached_property
    def renamed(self) -> dict[str, str]:
        """What the file calls otherwise than the module that it imports it from."""
        imports = (part for part in subtree(self.tree) if isinstance(part, ast.ImportFrom))
        return {alias.asname: alias.name for part in imports for alias in part.names if alias.asname not in (None, alias.name)}

    @cached_property
    def spelling(self) -> dict[str, list[ast.AST]]:
        """The functions that spell each word."""
        found: dict[str, list[ast.AST]] = {}
        for function, words in self.words.items():
            for each in words:
                found.setdefault(each, []).append(function)
        return found

    def leading_to(self, wanted: Collection[str]) -> set[ast.AST]:
        """The functions that spell one of the `wanted` words, or name a function which leads to one."""
        found: set[ast.AST] = set()
        pending = list(wanted)
        asked = set(pending)
        while pending:
            for function in self.spelling.get(pending.pop(), ()):
                if function in found:
                    continue
                found.add(function)
                name = getattr(function, "name", "")
                if name not in asked:
                    asked.add(name)
                    pending.append(name)
        return found

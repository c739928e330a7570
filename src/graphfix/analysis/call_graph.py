"""Which functions of a file lead to which others, by the names that they spell: one pass over the file, then one over the names."""

from __future__ import annotations

import ast
from collections.abc import Collection
from functools import cached_property


def word(node: ast.AST) -> str:
    """The name that a name or attribute is spelled with."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class CallGraph:
    """The functions of a file, and the words in each."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def words(self) -> dict[ast.AST, set[str]]:
        """What each function spells, those inside of it included."""
        functions = [part for part in ast.walk(self.tree) if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return {function: {word(part) for part in ast.walk(function)} for function in functions}

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

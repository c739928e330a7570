"""Which code of a file may meet a graph, by the words that it spells: seen without running anything, and once for all runs over the file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from graphfix.analysis.bringing import bringing_words
from graphfix.analysis.call_graph import ITEM, CallGraph, forms_in
from graphfix.interpreter.conventions import Conventions
from graphfix.models.words import CALLED_WALKS, INDEXED, SPELLED_READS, WALKED_BY_TRAINER, anyhow
from graphfix.source.document import Document


class Prospects:
    """What to expect of the functions of one file, and of the sides of their branches."""

    def __init__(self, document: Document, roots: tuple[Path, ...], conventions: Conventions) -> None:
        self.document = document
        self.roots = roots
        self.conventions = conventions
        self._bringing: dict[ast.AST, bool] = {}

    def is_relevant(self, definition: ast.AST) -> bool:
        """Whether the code, or what it calls in this file by name, walks a graph or reads a number out of one."""
        name = getattr(definition, "name", "")
        return name in WALKED_BY_TRAINER or name == "forward" and self.conventions.trains_modules or definition in self.reading

    @cached_property
    def is_module_relevant(self) -> bool:
        """Whether the file, run as a script, may come to a walk or to a graph, or takes an item out of what may have no dimension."""
        tree = self.document.tree
        leading = tree in self.leading_to_graphs or tree in self.call_graph.leading_to((ITEM,))
        return leading or self.is_relevant(tree) or self.conventions.trains_modules

    def may_walk(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a method leads to a walk in this file, or returns what others walk."""
        return method in self.walking or method.name in WALKED_BY_TRAINER or self.conventions.trains_modules

    def may_bring_graphs(self, code: Iterable[ast.AST]) -> bool:
        """Whether a piece of code, or what it calls in this file by name, may make a graph or walk one; other files may do either."""
        return any(self._brings(part) for part in code)

    def _brings(self, part: ast.AST) -> bool:
        if part not in self._bringing:
            self._bringing[part] = not self.bringing.isdisjoint(forms_in([part]))
        return self._bringing[part]

    @cached_property
    def call_graph(self) -> CallGraph:
        return CallGraph(self.document.tree)

    @cached_property
    def walking(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk."""
        return self.call_graph.leading_to(CALLED_WALKS | self.conventions.walking)

    @cached_property
    def reading(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk, or to a read of something into which a graph may come."""
        reads = self.call_graph.leading_to(SPELLED_READS)
        if reads:
            reads = self.brought_to(reads, self.leading_to_graphs)
        return self.walking | self.call_graph.leading_to((INDEXED,)) | reads

    def brought_to(self, functions: set[ast.AST], leading: set[ast.AST]) -> set[ast.AST]:
        """Those of the functions that are `leading`, or have an object in which a method that is may leave something."""
        class_of = self.call_graph.class_of
        classes = {cls for part, cls in class_of.items() if part in leading or cls in leading}
        return {each for each in functions if each in leading or class_of.get(each) in classes}

    @cached_property
    def leading_to_graphs(self) -> set[ast.AST]:
        """The code into which a graph may come by what it calls and names."""
        return self.call_graph.leading_to(self.bringing, through_variables=True)

    @cached_property
    def walks(self) -> bool:
        """Whether the file spells a walk: it may prove graphs that a run without one has met unawares."""
        words = self.call_graph.spelled | {definition.name for definition in self.call_graph.definitions}
        wanted = anyhow(CALLED_WALKS | WALKED_BY_TRAINER | self.conventions.walking)
        return self.conventions.trains_modules or not words.isdisjoint(wanted)

    @cached_property
    def bringing(self) -> frozenset[str]:
        """The words by which a graph may come into a run that has none so far."""
        return frozenset(anyhow(bringing_words(self.call_graph, self.document, self.roots, self.conventions.walking)))

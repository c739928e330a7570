"""Which code of a file may meet a graph, by the words that it spells: seen without running anything, and once for all runs over the file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from graphfix.analysis.bringing import ImportedWords, bringing_words
from graphfix.analysis.call_graph import ITEM, CallGraph, forms_in
from graphfix.analysis.reaching import Aim, imported
from graphfix.interpreter.conventions import Conventions
from graphfix.models.words import (
    BRINGING,
    CALLED_WALKS,
    CLEARS,
    INDEXED,
    MODULES,
    SPELLED_OLD_READS,
    SPELLED_READS,
    WALKED_BY_TRAINER,
    anyhow,
)
from graphfix.source.document import Document
from graphfix.source.subtree import children


class Prospects:
    """What to expect of the functions of one file, and of the sides of their branches."""

    def __init__(self, document: Document, roots: tuple[Path, ...], conventions: Conventions) -> None:
        self.document = document
        self.roots = roots
        self.conventions = conventions
        self._bringing: dict[ast.AST, bool] = {}
        self._words_with: dict[tuple[frozenset[str], frozenset[str]], set[str]] = {}

    def is_relevant(self, definition: ast.AST) -> bool:
        """Whether the code, or what it calls in this file by name, walks a graph or reads a number out of one."""
        name = getattr(definition, "name", "")
        return name in WALKED_BY_TRAINER or name == "forward" and self.conventions.trains_modules or definition in self.reading

    @cached_property
    def is_module_relevant(self) -> bool:
        """Whether the file, run as a script, may come to a walk or to a graph, or takes an item out of what may have no dimension."""
        tree = self.document.tree
        if self.is_relevant(tree) or self.conventions.trains_modules or tree in self.call_graph.leading_to((ITEM,)):
            return True
        has_effects = any(map(does_something, tree.body))
        if (has_effects or not self.is_quiet) and tree in self._leading_to(self._own_words()):
            return True
        # what a library makes of its imports is read by who imports it
        return has_effects and tree in self._leading_to(self._words({tree}))

    def may_record(self, definition: ast.AST) -> bool:
        """Whether more than an evaluation may be found in a function.

        Where it is not, nothing is found in what records nothing, nor in a forward pass without a loop: that is its callers' affair.
        """
        return not self.is_quiet or definition in self._reading_as_of_old

    @cached_property
    def _reading_as_of_old(self) -> set[ast.AST]:
        return self.call_graph.leading_to(SPELLED_OLD_READS | {INDEXED})

    def may_walk(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a method leads to a walk in this file, or returns what others walk."""
        return method in self.walking or method.name in WALKED_BY_TRAINER or self.conventions.trains_modules

    def may_bring_graphs(self, code: Iterable[ast.AST]) -> bool:
        """Whether a piece of code, or what it calls in this file by name, may make a graph or walk one; other files may do either."""
        return any(self._brings(part) for part in code)

    def _brings(self, part: ast.AST) -> bool:
        if part not in self._bringing:
            words = forms_in([part])
            self._bringing[part] = not self._own_words().isdisjoint(words) or not self._words(words=words).isdisjoint(words)
        return self._bringing[part]

    @cached_property
    def call_graph(self) -> CallGraph:
        return CallGraph(self.document.tree)

    @cached_property
    def walking(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk, or clear the gradients of one."""
        return self.call_graph.leading_to(CALLED_WALKS | self._walking_names | {CLEARS})

    @cached_property
    def _walking_names(self) -> frozenset[str]:
        """The functions that walk by what the settings say, or in the files that this one imports."""
        return self.conventions.walking | self._imported(Aim.WALK)

    def _imported(self, aim: Aim) -> frozenset[str]:
        return imported(self.call_graph, Path(self.document.path), self.roots, aim)

    @cached_property
    def reading(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk, or to a read of something into which a graph may come.

        In a quiet file that is a graph of modules, but for reads of old: what such a file tells of else are evaluations.
        """
        graph = self.call_graph
        reads = graph.leading_to(SPELLED_READS | self._imported(Aim.READ))
        of_any_graph = self._reading_as_of_old & reads if self.is_quiet else reads
        brought = self._brought(of_any_graph, BRINGING) | self._brought(reads - of_any_graph, MODULES)
        return self.walking | graph.leading_to((INDEXED,)) | brought

    def _brought(self, reads: set[ast.AST], brings: frozenset[str]) -> set[ast.AST]:
        """Those of the functions that read to which comes what the words bring; imports are asked where the file alone brings nothing."""
        own = self._leading_to(self._own_words(brings)) if reads else set()
        brought = self.brought_to(reads, own)
        left = reads - brought
        return brought | self.brought_to(left, own | self._leading_to(self._words(left, brings=brings))) if left else brought

    def brought_to(self, functions: set[ast.AST], leading: set[ast.AST]) -> set[ast.AST]:
        """Those of the functions that are `leading`, or have an object in which a method that is may leave something."""
        class_of = self.call_graph.class_of
        classes = {cls for part, cls in class_of.items() if part in leading or cls in leading}
        return {each for each in functions if each in leading or class_of.get(each) in classes}

    @cached_property
    def walks(self) -> bool:
        """Whether the file spells a walk, or clears the gradients of one: it may prove graphs that a run without one has met unawares."""
        words = self.call_graph.spelled | {definition.name for definition in self.call_graph.definitions}
        wanted = anyhow(CALLED_WALKS | WALKED_BY_TRAINER | self._walking_names) | {CLEARS}
        return self.conventions.trains_modules or not words.isdisjoint(wanted)

    @property
    def is_quiet(self) -> bool:
        """Whether the file spells no walk, and no traced run has shown one."""
        return not self.walks and self.conventions.witness is None

    def _own_words(self, brings: frozenset[str] = BRINGING) -> set[str]:
        """The words by which a graph may come into a run that has none so far, out of the file alone. `brings`: those that are known to."""
        return self._words_given(frozenset(), brings)

    @cached_property
    def _imports(self) -> ImportedWords:
        return ImportedWords(self.call_graph.imports, Path(self.document.path), self.roots)

    def _words(self, parts: Iterable[ast.AST] = (), words: Iterable[str] = (), brings: frozenset[str] = BRINGING) -> set[str]:
        """The same with what comes out of the files that code within reach of the parts and words imports: these have to be read."""
        return self._words_given(self._imports.words(self.call_graph.within_reach(parts, words)), brings)

    def _words_given(self, imported: frozenset[str], brings: frozenset[str]) -> set[str]:
        key = imported, brings
        if key not in self._words_with:
            self._words_with[key] = anyhow(bringing_words(self.call_graph, self.conventions.walking, imported, brings))
        return self._words_with[key]

    def _leading_to(self, words: set[str]) -> set[ast.AST]:
        """The code that comes to one of the words by what it calls and names."""
        return self.call_graph.leading_to(words, through_variables=True)


def does_something(statement: ast.stmt) -> bool:
    """Whether a statement of a module is there for its effect, and not for what it defines."""
    if isinstance(statement, (ast.If, ast.Try)):
        return any(isinstance(part, ast.stmt) and does_something(part) for part in children(statement))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, (ast.Call, ast.Await))
    return isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.AugAssign))

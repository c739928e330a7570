"""Which code of a file may meet a graph: seen without running anything, and once for all runs over the file."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from graphfix.interpreter.conventions import Conventions
from graphfix.models.words import LAUNCHERS, WALKED_BY_TRAINER
from graphfix.relevance.facts import ANY_READ, Fact, Facts
from graphfix.relevance.parts import Parts, parts_of
from graphfix.relevance.reach import BRINGS, Aim, Imports, coming, imports_to, says
from graphfix.relevance.sayings import Lead
from graphfix.source.document import Document
from graphfix.source.subtree import children

# how many calls away from what makes a graph a piece of code still counts as making one
STEPS = 2
# functions of these names go backward, or a trainer does with what they return
WALKING = {"backward"} | LAUNCHERS | WALKED_BY_TRAINER


class Prospects:
    """What to expect of the functions of one file, and of the sides of their branches."""

    def __init__(self, document: Document, roots: tuple[Path, ...], conventions: Conventions) -> None:
        self.document = document
        self.roots = roots
        self.conventions = conventions
        self._near: dict[tuple[Facts, bool, int | None], set[ast.AST]] = {}
        self._bringing: dict[ast.AST, bool] = {}

    def is_relevant(self, definition: ast.AST) -> bool:
        """Whether the code, or what it calls in this file, walks a graph or reads a number out of one."""
        name = getattr(definition, "name", "")
        return name in WALKED_BY_TRAINER or name == "forward" and self.conventions.trains_modules or definition in self.reading

    @cached_property
    def is_module_relevant(self) -> bool:
        """Whether the file, run as a script, may come to a walk or to a graph, or takes an item out of what may have no dimension."""
        tree = self.document.tree
        if self.is_relevant(tree) or self.conventions.trains_modules or tree in self._saying(frozenset((Fact.ITEM,))):
            return True
        has_effects = any(map(does_something, tree.body))
        if (has_effects or not self.is_quiet) and tree in self._brought_by(BRINGS):
            return True
        # what a library makes of its imports is read by who imports it
        return has_effects and tree in self._brought_by(BRINGS, imported=True)

    def may_record(self, definition: ast.AST) -> bool:
        """Whether more than an evaluation may be found in a function.

        Where it is not, nothing is found in what records nothing, nor in a forward pass without a loop: that is its callers' affair.
        """
        return not self.is_quiet or definition in self._reading_as_of_old

    @cached_property
    def _reading_as_of_old(self) -> set[ast.AST]:
        return self._saying(frozenset((Fact.READ_AS_OF_OLD, Fact.FIRST)))

    def may_walk(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether a method leads to a walk in this file, or returns what others walk."""
        return method in self.walking or method.name in WALKED_BY_TRAINER or self.conventions.trains_modules

    def may_bring_graphs(self, code: Iterable[ast.AST]) -> bool:
        """Whether a piece of code, or what it calls in this file, may make a graph or walk one; other files may do either."""
        return any(self._brings(part) for part in code)

    def _brings(self, part: ast.AST) -> bool:
        if part not in self._bringing:
            said = self.parts.said_in([part])
            found = says(said, BRINGS | {Fact.FIRST}, None) or bool(self.parts.naming(self.conventions.walking, [part]))
            found = found or not self._own_leads.isdisjoint(said.leads)
            found = found or any(map(self._bringing_imports.comes, said.imports))
            self._bringing[part] = found or not self._imported_leads.isdisjoint(said.leads)
        return self._bringing[part]

    @cached_property
    def _own_leads(self) -> set[Lead]:
        """By what a piece of code comes to what brings a graph in this file, a few calls away."""
        return self.parts.leads_to(self._brought_by(BRINGS, steps=STEPS))

    @cached_property
    def _imported_leads(self) -> set[Lead]:
        """The same with what is imported."""
        return self.parts.leads_to(self._brought_by(BRINGS, steps=STEPS, imported=True))

    @cached_property
    def parts(self) -> Parts:
        return parts_of(self.document)

    def _saying(self, facts: Facts, imports: Imports | None = None) -> set[ast.AST]:
        """The functions of this file that come to what says one of the facts, here or in what it imports."""
        return self.parts.leading_to(coming(self.parts, facts, imports))

    @cached_property
    def _added(self) -> set[ast.AST]:
        """The parts that name a function which goes backward as the settings say."""
        return self.parts.naming(self.conventions.walking)

    def _imports(self, aim: Aim) -> Imports:
        return imports_to(aim, Path(self.document.path), self.roots)

    @cached_property
    def _bringing_imports(self) -> Imports:
        return self._imports(Aim.BRING)

    @cached_property
    def _walking_imports(self) -> Imports:
        return self._imports(Aim.WALK)

    @cached_property
    def walking(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk, or clear the gradients of one."""
        begin = coming(self.parts, frozenset((Fact.WALK, Fact.CLEAR)), self._walking_imports)
        return self.parts.leading_to(begin | self._added)

    @cached_property
    def reading(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk, or to a read of something into which a graph may come.

        In a quiet file that is a graph of modules, but for reads of old: what such a file tells of else are evaluations.
        """
        reads = self._saying(ANY_READ, self._imports(Aim.READ))
        of_any_graph = self._reading_as_of_old & reads if self.is_quiet else reads
        brought = self._brought(of_any_graph, BRINGS) | self._brought(reads - of_any_graph, frozenset((Fact.MODULE,)))
        return self.walking | self._saying(frozenset((Fact.FIRST,))) | brought

    def _brought(self, reads: set[ast.AST], brings: Facts) -> set[ast.AST]:
        """Those of the functions that read to which comes what the facts bring; imports are asked where the file alone brings nothing."""
        brought = self.brought_to(reads, self._brought_by(brings)) if reads else set()
        left = reads - brought
        return brought | self.brought_to(left, self._brought_by(brings, imported=True)) if left else brought

    def brought_to(self, functions: set[ast.AST], leading: set[ast.AST]) -> set[ast.AST]:
        """Those of the functions that are `leading`, or have an object in which a method that is may leave something."""
        classes = {part if isinstance(part, ast.ClassDef) else self.parts.class_of(part) for part in leading} - {None}
        return {each for each in functions if each in leading or self.parts.class_of(each) in classes}

    def _brought_by(self, brings: Facts, *, steps: int | None = None, imported: bool = False) -> set[ast.AST]:
        """The parts to which a graph may come that this file makes, or, if `imported`, one that it imports."""
        key = brings, imported, steps
        if key not in self._near:
            imports = self._bringing_imports if imported else None
            begin = coming(self.parts, brings | {Fact.FIRST}, imports) | self._added
            self._near[key] = self.parts.leading_to(begin, steps, through_variables=True)
        return self._near[key]

    @cached_property
    def walks(self) -> bool:
        """Whether the file spells a walk, or clears the gradients of one: it may prove graphs that a run without one has met unawares."""
        defined = {definition.name for definition in self.parts.definitions}
        if self.conventions.trains_modules or self._added or not defined.isdisjoint(WALKING | self.conventions.walking):
            return True
        return says(self.parts.spelled, Aim.WALK.facts, self._walking_imports)

    @property
    def is_quiet(self) -> bool:
        """Whether the file spells no walk, and no traced run has shown one."""
        return not self.walks and self.conventions.witness is None


def does_something(statement: ast.stmt) -> bool:
    """Whether a statement of a module is there for its effect, and not for what it defines."""
    if isinstance(statement, (ast.If, ast.Try)):
        return any(isinstance(part, ast.stmt) and does_something(part) for part in children(statement))
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, (ast.Call, ast.Await))
    return isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.AugAssign))

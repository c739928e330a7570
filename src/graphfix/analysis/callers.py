"""What other files of the project do with a file: the entries that reach its code from there.

A class that another file drives in a loop is simulated without that loop when its own file is read. Each file that imports it is
run here as a script and by its own entries, with the import bound to the very program under analysis. Further callers may
exist out of sight, so that what such runs show is true of one way to use the file, and never of all of them.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from graphfix.analysis.call_graph import ITEM, SET, CallGraph, Definition, forms_in, spelled_in
from graphfix.analysis.entries import EntryPoint, Start
from graphfix.analysis.explore import Explorer, Tape
from graphfix.analysis.importers import importing, spells
from graphfix.analysis.policies import PolicyKind
from graphfix.analysis.testing import is_test
from graphfix.interpreter.imports import Importer, parsed
from graphfix.interpreter.interpreter import LIMITS
from graphfix.models.words import CALLED_WALKS, INDEXED
from graphfix.source.document import Document
from graphfix.source.subtree import kept_with_node

# Importing files that are read for one file, those of them that are run, and the statements and calls that each may simulate
MAX_LOOKED_AT = 16
MAX_CALLERS = 2
CALLER_STEPS = 6_000
FRUITLESS_STEPS = 1_000  # of entries that have not come to the file, before no more of them are tried
# What builds an object, and what data loading calls: no graph is there yet
BUILDING = frozenset(("__init__", "__getitem__", "__len__", "__iter__", "__next__", "__repr__", "__str__"))
# Methods that put something into a container or walk a graph, whatever class defines them
TELLING = (".append", ".extend", *(word for word in CALLED_WALKS if word.startswith(".")))
# Names that are spelled everywhere and mean something else there
ANYWHERE = frozenset(("forward", "train", "eval", "load", "save", "step", "reset", "update", "get", "run", "main"))


class CallerImporter(Importer):
    """Resolves the imports of a caller; the file under analysis is not read a second time."""

    def __init__(self, path: Path, roots: tuple[Path, ...], analysed: Document) -> None:
        super().__init__(path, roots)
        self.analysed = analysed
        self.real = Path(os.path.realpath(analysed.path))

    def find(self, name: str, importing: Path) -> Path | None:
        found = super().find(name, importing)
        return Path(os.path.realpath(found)) if found is not None else None

    def document_at(self, path: Path, name: str) -> Document | None:
        return self.analysed if path == self.real else parsed(path, name)


class CallerExplorer(Explorer):
    """Runs the tape over a file that imports the analysed one."""

    def __init__(self, caller: Document, tape: Tape, names: frozenset[str]) -> None:
        """`tape`: of the analysed file; `names`: those under which the caller uses what it is run for."""
        super().__init__(caller, tape.roots, tape.conventions)
        self.importer = self.tape.importer = CallerImporter(Path(caller.path), tape.roots, tape.document)
        self.names = names
        self.functions = set(tape.prospects.call_graph.definitions)
        self.known = {part.name for part in (*self.functions, *tape.prospects.call_graph.classes)}
        self.most = CALLER_STEPS
        self.kinds = (PolicyKind.QUIET,)  # each side of a branch once is enough to see how the file is used
        self.times = 1

    def give_share(self) -> None:
        """All entries share one budget: what one of them shows is enough."""
        self.budget = self.most

    def entries(self) -> Iterator[tuple[EntryPoint, ast.AST, Start]]:
        """Those that spell a walk themselves first: the budget may end before the others."""
        for each in sorted(super().entries(), key=lambda entry: not forms_in([entry[1]]) & CALLED_WALKS):
            if self.steps > FRUITLESS_STEPS and not self.has_come:
                return
            yield each

    @property
    def has_come(self) -> bool:
        """Whether a run has come to a function of the analysed file."""
        return any(not self.functions.isdisjoint(run.recording.entered) for run in self.tape.runs)

    def is_relevant(self, definition: ast.AST) -> bool:
        return definition in self.reaching

    @property
    def is_module_relevant(self) -> bool:
        return self.tape.document.tree in self.reaching or super().is_module_relevant

    @cached_property
    def reaching(self) -> set[ast.AST]:
        """The code that names what the caller is run for, or walks a graph that may come out of the analysed file."""
        prospects = self.prospects
        defined = prospects.call_graph.leading_to(self.known, through_variables=True)
        return prospects.call_graph.leading_to(self.names) | prospects.brought_to(prospects.walking, defined)

    @property
    def walks(self) -> bool:
        return True  # one of the two files does

    @property
    def is_quiet(self) -> bool:
        return False


def called(tape: Tape, *, all_functions: bool = False) -> Tape | None:
    """The runs by which other files reach functions of the file of `tape`; None where no other file is known to.

    `all_functions`: also those that by themselves give no reason to look at their callers.
    """
    document = tape.document
    graph = tape.prospects.call_graph
    functions = set(graph.definitions)
    entered = {part for run in tape.runs if run.entry.is_module for part in run.recording.entered}
    wanted = worth_reaching(graph, functions - entered, all_functions=all_functions)
    if not wanted:
        return None
    walks = not CALLED_WALKS.isdisjoint(graph.spelled)
    tapes: list[Tape] = []
    close = itertools.islice(importing(Path(document.path), tape.roots), MAX_LOOKED_AT)
    for caller in itertools.islice((each for path in close for each in using(path, wanted, walks)), MAX_CALLERS):
        tapes.append(CallerExplorer(caller, tape, wanted).explore())
    # what a caller does up to the end of the budget proves nothing
    runs = [run for each in tapes for run in each.runs]
    found = [run for run in runs if run.recording.ended_by not in LIMITS and functions & run.recording.entered]
    for run in found:
        run.entry = dataclasses.replace(run.entry, elsewhere=True)
    made = Tape(document, found, True, tape.roots, tape.conventions, others=tapes)
    if not found:
        made.let_go()
    return made if found else None


def using(path: Path, wanted: frozenset[str], walks: bool) -> Iterator[Document]:
    """The file at `path`, parsed, where it spells a `wanted` name and a backward pass, which it need not where it `walks` elsewhere."""
    if not spells(path, wanted) or not walks and not spells(path, CALLED_WALKS):
        return
    caller = parsed(path, path.stem)
    if caller is None or wanted.isdisjoint(spelled_in(caller.tree)) or not walks and not spells_walk(caller.tree):
        return
    if not is_test(caller):
        yield caller


@kept_with_node
def spells_walk(tree: ast.Module) -> bool:
    """Whether a file spells a backward pass."""
    return not CALLED_WALKS.isdisjoint(forms_in([tree]))


def worth_reaching(graph: CallGraph, functions: Iterable[Definition], *, all_functions: bool = False) -> frozenset[str]:
    """The names under which other files use those functions that walk a graph, read a number out of one or keep something."""
    names = set()
    for function in functions:
        if function.name in BUILDING or not all_functions and not keeps(graph.words[function]):
            continue
        owner = graph.class_of.get(function)
        implied = function.name.startswith("__") or function.name in ANYWHERE  # it is the class that other files name
        names.add(owner.name if implied and owner is not None else function.name)
    return frozenset(names)


def keeps(words: set[str]) -> bool:
    """Whether a function walks, or something may outlive its call (it is put into an attribute, an item or a container), or is read as in
    torch 0.3.
    """
    if SET in words or not CALLED_WALKS.isdisjoint(words) or words.issuperset((ITEM, INDEXED)):
        return True
    return any(word.endswith(TELLING) for word in words)

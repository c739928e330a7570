"""What is known of one program: its runs, what they say together, and trials that only some questions need."""

from __future__ import annotations

import ast
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from graphfix.analysis.contributors import Facts
from graphfix.analysis.explore import Tape
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import SecondBackward, second_backwards
from graphfix.autograd.graph import history
from graphfix.autograd.iteration import is_further
from graphfix.calls import program as calls
from graphfix.calls.graph import CallGraph
from graphfix.calls.recording import Recording
from graphfix.interpreter.imports import Importer
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import ReadKind, Store
from graphfix.interpreter.values import NonTensor, Tensor, Unknown, Value, nodes_in
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Label, Span
from graphfix.project.importers import are_searched, beside, importing, is_offered, is_packaged, is_used_unread, spells
from graphfix.source.document import Document
from graphfix.source.finder import NEVER
from graphfix.source.program import Program
from graphfix.source.subtree import subtree

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow

Cuts = Callable[["Evidence"], Iterator[ast.expr]]
Details = ParamSpec("Details")
Answer = TypeVar("Answer")
# programs that are looked at for what they do with a file which they import
MAX_IMPORTERS = 16


def asked_once(
    question: Callable[Concatenate[Evidence, Details], Answer],
) -> Callable[Concatenate[Evidence, Details], Answer]:
    """A question whose answer is found out once for each evidence (and details), and is kept with it."""

    @functools.wraps(question)
    def answer(evidence: Evidence, *details: Details.args, **named: Details.kwargs) -> Answer:
        key = (question, *details, *named.items())
        if key not in evidence.answers:
            evidence.answers[key] = question(evidence, *details, **named)
        return evidence.answers[key]

    return answer


@dataclass(eq=False)
class Evidence:
    """What a rule is given: the runs of one program, and what they say together.

    `cuts`: for each rule what it would turn into numbers or detach, asked of this evidence.
    `answers`: what other questions have found out about it (see `asked_once`). `homes`: the paths of the files that are to be changed, which
    other programs may use, too; by default that in which the runs begin.
    """

    tape: Tape
    facts: Facts
    cuts: tuple[Cuts, ...] = ()
    answers: dict[tuple, Any] = field(default_factory=dict)
    homes: tuple[str, ...] = ()

    def told(self, report: Callable[..., Finding | None], *details: Any) -> Iterator[Finding]:
        """The finding that `report` makes of this evidence and `details`, where it makes one."""
        finding = report(self, *details)
        if finding is not None:
            yield finding

    @cached_property
    def program(self) -> Program:
        """The files that the runs have come to."""
        return Program(self.tape.document, lambda: self.tape.documents)

    @cached_property
    def second_backwards(self) -> list[SecondBackward]:
        """Every backward pass that meets a freed graph, by cause."""
        return second_backwards(self.tape)

    @cached_property
    def needs_tensor(self) -> set[ast.expr] | None:
        """The expressions that have to stay tensors where a rule would cut them; None where that could not be found out.

        The file is run once more with all of them read as numbers: a use of such a number that only a tensor allows, or
        that is not in sight, tells. What is out of sight gets numbers where the project's settings say so.
        """
        wanted = [expression for cuts in self.cuts for expression in cuts(self)]
        trial = self.tape.replay({expression: as_number for expression in wanted})
        if trial.truncated:
            return None
        passed = (ReadKind.OUT_OF_SIGHT,) if self.tape.conventions.accumulate == "item" else ()
        reads = (read for run in trial.runs for read in run.recording.misuses if read.kind not in passed)
        needed = {read.value.cut for read in reads if isinstance(read.value, NonTensor)}
        trial.let_go()
        return needed

    @asked_once
    def of_homes(self, homes: tuple[str, ...]) -> Evidence:
        """The same evidence for a change of the files at `homes`."""
        return self if homes == (self.program.main.path,) else replace(self, answers={}, homes=homes)

    @cached_property
    def changing(self) -> list[Document]:
        """The file that the runs begin in, and those that are to be changed."""
        return list(dict.fromkeys((self.program.main, *map(self.program.named, self.homes))))

    def changes(self, node: ast.AST) -> bool:
        """Whether `node` stands in one of these files."""
        return self.program.holds(node) and self.program.file_of(node) in self.changing

    @cached_property
    def importers(self) -> list[Path]:
        """The closest programs of the project that import the files that are to be changed, besides those that the runs come to."""
        own = {os.path.realpath(document.path) for document in self.program.files}
        found = dict.fromkeys(
            path for document in self.changing for path in self._importing(document) if document is self.program.main or str(path) not in own
        )
        return list(itertools.islice(found, MAX_IMPORTERS))

    def _importing(self, document: Document) -> Iterator[Path]:
        return itertools.islice(importing(Path(document.path), self.tape.roots), MAX_IMPORTERS)

    @cached_property
    def knows_importers(self) -> bool:
        """Whether these are all of them: they are not too many, and nor are the files of the project."""
        return len(self.importers) < MAX_IMPORTERS and are_searched(self.tape.roots)

    @asked_once
    def importers_naming(self, name: str) -> list[Document]:
        """Those of these programs that spell a name."""
        return list(self._naming(name, self.importers))

    @asked_once
    def users_naming(self, name: str, document: Document) -> list[Document]:
        """The closest programs that import a file, changed or not, and spell a name."""
        return list(self._naming(name, self.importers if document in self.changing else self._importing(document)))

    @asked_once
    def neighbours_naming(self, name: str, document: Document) -> list[Document]:
        """The closest files of programs that come to a file which spell a name: methods are called by who imports nothing of their class."""
        paths = beside(Path(document.path), name, self.tape.roots)
        return list(itertools.islice(self._naming(name, paths), MAX_IMPORTERS))

    def _naming(self, name: str, paths: Iterable[Path]) -> Iterator[Document]:
        documents = (self.importer.document_at(path, path.stem) for path in paths if spells(path, (name,)))
        return (document for document in documents if document is not None and name in document.words)

    @asked_once
    def importers_taking(self, attribute: str) -> list[Document]:
        """Those that take an attribute of this name from an object."""
        return [
            document
            for document in self.importers_naming(attribute)
            if any(isinstance(part, ast.Attribute) and part.attr == attribute for part in subtree(document.tree))
        ]

    @asked_once
    def stays_inside(self, attribute: str) -> bool:
        """Whether nobody is seen to call backward() on what attributes of this name hold, or to take it where it cannot be followed.

        Nobody calls a method of the file that returns it where no program that imports the file spells its name.
        """
        from graphfix.analysis.flow.places import Field, Sink

        if self.importers_naming(attribute):
            return False
        for arrival in self.flow.graph.reach([Field(attribute)]).arrivals:
            site = arrival.site
            if isinstance(site, ast.FunctionDef) and site in self.flow.calls.entered:
                is_open = bool(self.importers_naming(site.name))
            else:
                is_open = arrival.sink is not Sink.ASKED
            if is_open:
                return False
        return True

    def loses_nothing(self, expressions: list[ast.expr]) -> bool:
        """Whether, with all of `expressions` detached, each walk that works still carries every gradient that is used."""
        return keeps_walks(self.tape, self.tape.replay(dict.fromkeys(expressions, as_detached)))

    def leaves_function(self, store: Store) -> bool:
        """Whether what is stored is part of what the storing function returns: whoever calls it elsewhere may call backward() on it."""
        frame = store.trace[-1][0]
        for run in self.tape.runs:
            value = run.recording.returned.get(frame)
            if value is not None:
                return bool(set(store.nodes) & set(history(nodes_in(value))))
        return False

    def swallows(self, site: ast.AST) -> bool:
        """Whether the program may go on from an error that is raised at a place."""
        from graphfix.analysis.flow.swallowed import swallowed

        return swallowed(self.flow, site, by_runners=False) is not None

    @cached_property
    def flow(self) -> Flow:
        """Where values may go, whatever the runs have shown."""
        from graphfix.analysis.flow.flow import flow_of

        return flow_of(self.program.main, self.document_named, self.tape.conventions.walking, {each: self._offered(each) for each in self.changing})

    @cached_property
    def importer(self) -> Importer:
        """That of the runs, so that flow and runs speak of the same documents."""
        main = self.program.main
        return self.tape.importer or Importer(Path(main.path), self.tape.roots, {**self.tape.given, Path(os.path.realpath(main.path)): main})

    @cached_property
    def document_named(self) -> Callable[[str, Document], Document | None]:
        """Which document a name of a module means in another one; None where it is none of the project's."""
        importer = self.importer

        def find(name: str, importing: Document) -> Document | None:
            if name.lstrip(".").split(".")[0] in NEVER:
                return None
            path = importer.find(name, Path(importing.path))
            return importer.document_at(path, name) if path is not None else None

        return find

    @cached_property
    def call_graph(self) -> CallGraph:
        """What each instruction of the program may run; other programs that import its files may be taken in."""
        return CallGraph(calls.Program(self.program.main, self.document_named))

    @cached_property
    def recording(self) -> Recording:
        """Where the code of the program surely records nothing."""
        return Recording(self.call_graph)

    def _offered(self, document: Document) -> list[ast.AST]:
        """The functions of a file that code besides this program may call."""
        from graphfix.analysis.flow.flow import public

        path = Path(document.path)
        roots = self.tape.roots
        if is_packaged(path) or not self.knows_importers or is_used_unread(path, roots):
            return list(public(document.tree)) if is_offered(path, roots) else []
        return [each for each in public(document.tree) if self.importers_naming(getattr(each, "name", ""))]

    def let_go(self) -> None:
        """End it: most of what holds one another in circles goes now, and Python's collector need not look for it."""
        flow = vars(self).get("flow")
        if flow is not None:
            flow.let_go()
        for other in (each for each in self.answers.values() if isinstance(each, Evidence) and each is not self):
            other_flow = vars(other).get("flow")
            if other_flow is not None:
                other_flow.let_go()
            vars(other).clear()
        self.tape.let_go()
        vars(self).clear()

    def blamed(self, node: ast.AST) -> Span:
        """The statement that holds `node`, or `node` itself where that statement is a whole block."""
        statement = self.program.statement_of(node)
        return self.program.span(node if hasattr(statement, "body") else statement)

    def label(self, node: ast.AST, message: str) -> Label:
        """A step of a story at `node`, in the file that it stands in."""
        document = self.program.file_of(node)
        return Label(document.path, document.span(node), message)


def as_number(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """An expression's value as `.item()` would make it."""
    return NonTensor(("cut", node, m.now()), cut=node) if value.may_be_tensor else value


def as_detached(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """An expression's value as `.detach()` would make it."""
    if isinstance(value, Tensor):
        return Tensor(single=value.single, base=value, shape=value.shape)
    return Unknown(("detached", node, m.now())) if isinstance(value, Unknown) else value


def working_walks(run: Run) -> list[tuple[ast.AST, int, bool]]:
    """The walks of a run up to the first that raises: the call, how many nodes carry a gradient that may be used, and whether it lies in
    an iteration that is not run of every version of the program.
    """
    walks = run.recording.walks
    raising = next((index for index, event in enumerate(walks) if event.hits), len(walks))
    return [(event.site, len(run.fates.leading(event)), is_further(event.context)) for event in walks[:raising]]


def keeps_walks(before: Tape, after: Tape) -> bool:
    """Whether each walk that works in a run still carries every gradient in the same run of a trial that was run to its end."""
    if after.truncated or len(before.runs) != len(after.runs):
        return False
    pairs = ((working_walks(one), working_walks(two)) for one, two in zip(before.runs, after.runs))
    return all(old == new[: len(old)] for old, new in pairs)


def walks_as_often(before: Tape, after: Tape) -> bool:
    """Whether no run of a trial makes fewer walks than before: one that ended early does not meet a fault, and shows nothing of it."""
    return all(len(one.recording.walks) <= len(two.recording.walks) for one, two in zip(before.runs, after.runs))

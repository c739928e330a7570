"""One run of the tape, and which runs would be the same once more."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property

from graphfix.analysis.entries import EntryPoint
from graphfix.analysis.out_of_sight import OutOfSight
from graphfix.analysis.policies import Policy
from graphfix.analysis.read_gradients import reads_gradients
from graphfix.autograd.backward import BackwardPass, WalkKind, met
from graphfix.autograd.gradients import Fates
from graphfix.autograd.graph import Leaf, Node
from graphfix.interpreter.recording import Recording
from graphfix.lazy_dataclass import dataclass
from graphfix.source.document import Document
from graphfix.source.spelling import FUNCTIONS


@dataclass(eq=False)
class Run:
    """One path through one entry, and what decided where the program did not say.

    `answers`: what it knew from the start, because the code had refused the contrary.
    """

    entry: EntryPoint
    recording: Recording
    policy: Policy
    answers: Mapping[object, bool] = field(default_factory=dict)

    @cached_property
    def fates(self) -> Fates:
        """What becomes of each gradient."""
        return Fates(self.recording.walks, self.recording.updates, lambda: self.reads_gradients())

    @cached_property
    def gradients_asked_for(self) -> set[Node]:
        """The nodes that calls of `autograd.grad(..., create_graph=True)` have recorded."""
        return {node for walk in self.recording.walks if walk.kind is WalkKind.GRAD for node in walk.created}

    @cached_property
    def walks_at(self) -> Mapping[ast.AST, list[BackwardPass]]:
        """The walks of each call, in order."""
        found: dict[ast.AST, list[BackwardPass]] = {}
        for walk in self.recording.walks:
            found.setdefault(walk.site, []).append(walk)
        return found

    @cached_property
    def last_walks(self) -> list[tuple[BackwardPass, list[Node]]]:
        """The last walk over each graph in each iteration, with the nodes that it meets, or may meet."""
        found: dict[object, tuple[BackwardPass, list[Node]]] = {}
        for walk in self.recording.walks:
            nodes = met(walk)
            found[walk.context, tuple(nodes)] = walk, nodes
        return list(found.values())

    @cached_property
    def first_recorded(self) -> float:
        """When a `backward(create_graph=True)` first records gradients; infinite where none does."""
        return min((walk.order for walk in self.recording.walks if walk.creates and walk.kind is not WalkKind.GRAD), default=math.inf)

    @cached_property
    def freeing_too_early(self) -> set[BackwardPass]:
        """The walks that free what another one meets."""
        return {hit.freed_by for walk in self.recording.walks for hit in walk.hits}

    @cached_property
    def out_of_sight(self) -> OutOfSight:
        """What code that is not in sight had hold of."""
        return OutOfSight(self.recording)

    @property
    def is_recorded(self) -> bool:
        """Whether gradients are surely recorded where the run begins: a script begins so, a function may be called under `no_grad` unless it goes backward."""
        return self.entry.is_module or bool(self.recording.walks)

    def is_past(self, event: BackwardPass, leaf: Leaf) -> bool:
        """Whether an optimizer has a leaf, and the program ends behind a backward pass without a step that may be over it."""
        if not leaf.trained or not self.entry.is_module or self.reads_gradients():
            return False
        later = (update for update in self.recording.updates if update.steps and update.order > event.order)
        return not any(leaf in update.leaves or not update.complete for update in later)

    def at_face_value(self) -> Run:
        """The same run as a reader takes it, which proves nothing.

        A gradient that is only clipped in place counts as one that nobody reads, and an optimizer of which some parameters are known
        as one that has no others.
        """
        run = Run(self.entry, self.recording, self.policy)
        updates = [dataclasses.replace(update, complete=bool(update.leaves)) for update in self.recording.updates]
        run.fates = Fates(self.recording.walks, updates, lambda: self.reads_gradients(clipping=False))
        return run

    def reads_gradients(self, clipping: bool = True) -> bool:
        """Whether the program reads a `.grad`: a step that the tape does not see may be made with it."""
        env = self.recording.env
        return env is None or any(reads_gradients(each, clipping) for each in {env.document, *self.recording.gradients_in})


def untouched_by(document: Document, runs: Iterable[Run], expressions: Iterable[ast.AST]) -> dict[EntryPoint, list[Run]]:
    """The runs of the entries that come to none of these expressions: read differently, these change nothing there.

    Nothing is said where one of them stands in no body of a function: its statement is not all that runs it.
    """
    statements: set[ast.AST] = set()
    for expression in expressions:
        statement = body_statement(document, expression)
        if statement is None:
            return {}
        statements.add(statement)
    found: dict[EntryPoint, list[Run]] = {}
    for run in runs:
        found.setdefault(run.entry, []).append(run)
    return {entry: made for entry, made in found.items() if all(run.recording.is_without(statements) for run in made)}


def body_statement(document: Document, expression: ast.AST) -> ast.stmt | None:
    """The statement of a function's body with which an expression is run; None where there is none."""
    around = document.enclosing(expression, (ast.stmt, ast.Lambda))
    if not isinstance(around, ast.stmt) or isinstance(around, (*FUNCTIONS, ast.ClassDef)):
        return None
    return around if isinstance(document.enclosing(around, (*FUNCTIONS, ast.ClassDef)), FUNCTIONS) else None


def first_runs(runs: Iterable[Run]) -> dict[EntryPoint, Run]:
    """The first run of each entry, which goes as the program usually does."""
    found: dict[EntryPoint, Run] = {}
    for run in runs:
        found.setdefault(run.entry, run)
    return found

"""Which runs are made: every entry of a file, under a handful of policies that together take both sides of its branches."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphfix.analysis.entries import (
    MODULE,
    EntryKind,
    EntryPoint,
    Start,
    callers_first,
    methods_in_order,
    run_module,
    start_function,
    start_method,
)
from graphfix.analysis.policies import Policy, PolicyKind, Side, compatible, is_idle_exit, repeats, side_of, worth_taking
from graphfix.analysis.runs import Run, untouched_by
from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.imports import NOTHING, Importer, define
from graphfix.interpreter.interpreter import LIMITS, Contradicted, Interpreter, Stop
from graphfix.interpreter.recording import Recording
from graphfix.interpreter.snapshot import Beginning, Question
from graphfix.interpreter.statements import is_raise
from graphfix.interpreter.values import Value
from graphfix.lazy_dataclass import dataclass
from graphfix.models.assembly import assembled
from graphfix.project.share import TooDear
from graphfix.relevance.prospects import Prospects
from graphfix.source.document import Document
from graphfix.source.spelling import FUNCTIONS
from graphfix.source.subtree import subtree

# Statements and calls that all runs over one file may simulate together: a count, so that results do not depend on the clock
TOTAL_STEPS = 100_000
STATEMENTS = 1_000  # of a file, from which on each one lets a run take
STEPS_OF_A_STATEMENT = 10  # more, up to
MOST_MORE = 60_000
LEAST_STEPS = 4_000  # for each entry, until there are MOST_STEPS
MOST_STEPS = 160_000
BRIEF_STEPS = 6_000  # of a file that only imports what matters
MOST_CORRECTIONS = 2  # of one run
MOST_FORCED = 5  # runs for sides that no policy takes, of one entry
MOST_BEGINNINGS = 4  # kept of a file
MOST_SPOILED = 8  # beginnings that runs have changed, before none is kept any more
NO_ANSWERS: Mapping[object, bool] = MappingProxyType({})


@dataclass(eq=False)
class Tape:
    """All runs of one program. `truncated` where the budget ended before every branch was taken.

    `interpreters`, `others`: what has made its runs, those that began anew included, and tapes that are not needed longer than this one.
    `given`: as `Importer` takes it. `is_brief`: as `Explorer.look_briefly` has it.
    `settled`: runs of the tape that it replays, which are the same once more. `further`: what to expect of files that its runs come to.
    """

    document: Document
    runs: list[Run] = field(default_factory=list)
    truncated: bool = False
    roots: tuple[Path, ...] = ()
    conventions: Conventions = NO_CONVENTIONS
    importer: Importer | None = None
    given: Mapping[Path, Document] = field(default_factory=dict)
    is_brief: bool = False
    interpreters: list[Interpreter] = field(default_factory=list)
    others: list[Tape] = field(default_factory=list)
    settled: dict[EntryPoint, list[Run]] = field(default_factory=dict)
    further: dict[Document, Prospects] = field(default_factory=dict)

    @cached_property
    def prospects(self) -> Prospects:
        return Prospects(self.document, self.roots, self.conventions)

    def prospects_at(self, node: ast.AST) -> Prospects | None:
        """Those of the file in which a node stands; None where no file in sight holds it."""
        if node in self.document.parents:
            return self.prospects
        document = next((each for each in self.documents if node in each.parents), None)
        if document is None:
            return None
        if document not in self.further:
            self.further[document] = Prospects(document, self.roots, self.conventions)
        return self.further[document]

    def let_go(self) -> None:
        """End it: runs, modules and what they hold are held by one another, and go now instead of when Python's collector finds them."""
        others = {run for runs in self.settled.values() for run in runs}
        for run in self.runs:
            if run not in others:
                vars(run).clear()
        for interpreter in self.interpreters:
            interpreter.let_go()
        for other in self.others:
            other.let_go()
        if self.importer is not None:
            self.importer.let_go()
        for ended in (self.runs, self.interpreters, self.others, self.settled):
            ended.clear()

    def replay(self, substitutions: dict[ast.AST, Callable[[Interpreter, ast.AST, Value], Value]]) -> Tape:
        """The same file with some expressions read differently: how a repair is tried.

        A file that is too large for its budget is not run again: the trial would end early, too, and prove nothing.
        """
        if self.truncated:
            return Tape(self.document, [], True, self.roots, self.conventions)
        explorer = Explorer(self.document, self.roots, self.conventions, self.given)
        self.others.append(explorer.tape)
        explorer.tape.prospects, explorer.tape.further = self.prospects, self.further
        explorer.tape.settled = untouched_by(self.document, self.runs, substitutions)
        explorer.substitutions = substitutions
        if self.is_brief:
            explorer.look_briefly()
        return explorer.explore()

    @property
    def documents(self) -> list[Document]:
        """The further files of the project that its runs have read."""
        return list(self.importer.documents.values()) if self.importer is not None else []

    @property
    def executed(self) -> set[ast.AST]:
        """The statements that some run has come to."""
        return set().union(*(part for run in self.runs for part in (run.recording.executed, run.recording.defined)))

    @property
    def modules(self) -> set[object]:
        return {key for run in self.runs for key in run.recording.modules}


class Explorer:
    """Runs the tape over one program."""

    def __init__(
        self,
        document: Document,
        roots: tuple[Path, ...],
        conventions: Conventions = NO_CONVENTIONS,
        given: Mapping[Path, Document] = NOTHING,
    ) -> None:
        """`given`: as `Importer` takes it."""
        self.tape = Tape(document, roots=roots, conventions=conventions, given=given)
        own = {Path(os.path.realpath(document.path)): document}  # who imports it does not read it a second time
        self.importer = self.tape.importer = Importer(Path(document.path), roots, {**given, **own})
        self.steps = 0
        self.budget = 0
        self.most = MOST_STEPS
        self.share: int | None = None
        self.only: Collection[EntryPoint] | None = None
        self.kinds: tuple[PolicyKind, ...] = (PolicyKind.OTHER, PolicyKind.LATE, PolicyKind.EARLY)
        self.times = 2
        self.substitutions: dict[ast.AST, Callable[[Interpreter, ast.AST, Value], Value]] = {}
        self.laborious: set[ast.AST] = set()
        self.beginnings: list[Beginning] = []
        self.resumed: Beginning | None = None
        self.spoiled = 0

    def look_briefly(self) -> None:
        """See how a file uses what it imports, and no more: each side of a branch once, in few steps."""
        self.tape.is_brief = True
        self.most = BRIEF_STEPS
        self.kinds = ()

    def look_once(self, entries: Collection[EntryPoint]) -> None:
        """See what these entries do as they usually go, and no more."""
        self.only = entries

    def look_within(self, share: int | None) -> None:
        """Give the program up, by raising `TooDear`, once it has taken more steps than its `share`; None: it may take what it needs."""
        self.share = share

    def explore(self) -> Tape:
        if self.is_module_relevant if self.only is None else MODULE in self.only:
            self.give_share()
            self.run_entry(MODULE, run_module)
        entered = {definition for run in self.tape.runs for definition in run.recording.entered}
        for entry, definition, start in self.entries() if self.only is None or {*self.only} - {MODULE} else ():
            if definition not in entered and (self.only is None or entry in self.only):
                if self.steps > self.most:
                    self.tape.truncated = True
                    break
                self.give_share()
                for run in self.run_entry(entry, start):
                    entered |= run.recording.entered
        return self.tape

    @cached_property
    def more_steps(self) -> int:
        """How many steps more than usual one run may take: what lies behind a thousand ordinary loops is to be seen, too."""
        statements = sum(isinstance(part, ast.stmt) for part in subtree(self.tape.document.tree))
        return min(STEPS_OF_A_STATEMENT * max(statements - STATEMENTS, 0), MOST_MORE)

    def give_share(self) -> None:
        """What the next entry may use: what is left, but always enough to be seen, so that none starves the others."""
        self.budget = self.most if self.tape.is_brief else max(TOTAL_STEPS, self.steps + LEAST_STEPS)

    def is_relevant(self, definition: ast.AST) -> bool:
        """Whether a function is run, where nothing else has entered it."""
        return self.prospects.is_relevant(definition)

    @property
    def is_module_relevant(self) -> bool:
        """Whether the file is run as a script."""
        return self.prospects.is_module_relevant

    @property
    def prospects(self) -> Prospects:
        return self.tape.prospects

    @property
    def walks(self) -> bool:
        """Whether the code spells a walk."""
        return self.prospects.walks

    def may_record(self, definition: ast.AST) -> bool:
        """Whether a function is of interest also where it records no graph."""
        return not self.is_quiet or self.prospects.may_record(definition)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is walked but by what the code gets from elsewhere."""
        return self.prospects.is_quiet

    def entries(self) -> Iterator[tuple[EntryPoint, ast.AST, Start]]:
        """The relevant functions and methods, callers before callees."""
        body = self.tape.document.tree.body
        for cls in (s for s in body if isinstance(s, ast.ClassDef)):
            yield from self.methods(cls)
        for function in callers_first(self.relevant(body), body):
            yield EntryPoint(EntryKind.FUNCTION, function.name), function, start_function(function, self.may_record(function))

    def methods(self, cls: ast.ClassDef) -> Iterator[tuple[EntryPoint, ast.AST, Start]]:
        for method in methods_in_order(self.relevant(cls.body), cls):
            if not (method.name.startswith("__") and method.name != "__call__"):
                entry = EntryPoint(EntryKind.METHOD, f"{cls.name}.{method.name}")
                expected = self.prospects.may_walk(method), self.may_record(method)
                yield entry, method, start_method(cls, method, self.times, *expected)

    def relevant(self, body: list[ast.stmt]) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Those of the functions that these statements define."""
        return [each for each in body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and self.is_relevant(each)]

    def run_entry(self, entry: EntryPoint, start: Start) -> list[Run]:
        """Run one entry under all policies; returns its runs."""
        settled = self.tape.settled.get(entry)
        if settled is not None:
            self.tape.runs += [run for run in settled if run not in self.tape.runs]  # two functions may have one name
            return settled
        made = [self.run_once(entry, start, Policy(PolicyKind.USUAL))]
        if made[0].policy.asked and self.only is None:
            for kind in self.kinds:
                if not self.walks and not shows_graphs(made) and (len(made) > 1 or not self.uncovered(made, set())):
                    break  # neither side of any branch has met a graph, or brings one
                if repeats(kind, {run.policy.kind: run.policy for run in made}):
                    continue
                if self.steps > self.budget:
                    self.tape.truncated = True
                    break
                made.append(self.run_once(entry, start, Policy(kind)))
            made.extend(self.force_uncovered(entry, start, made))
        self.tape.runs.extend(made)
        return made

    def force_uncovered(self, entry: EntryPoint, start: Start, made: list[Run]) -> list[Run]:
        """Runs for the sides of branches that no policy took, each under the policy of a run that came to the branch."""
        extra: list[Run] = []
        tried: set[Side] = set()
        for _ in range(MOST_FORCED):
            if self.steps > self.budget:
                self.tape.truncated = True
                break
            missing = self.uncovered([*made, *extra], tried)
            if not missing:
                break
            base = next(iter(missing.values()))
            chosen = compatible([side for side, run in missing.items() if run is base])
            tried.update(chosen)
            policy = Policy(base.policy.kind, {**base.policy.forced, **dict(forced_at(base, side) for side in chosen)})
            extra.append(self.run_once(entry, start, policy, base.answers))
        return extra

    def uncovered(self, made: list[Run], tried: set[Side]) -> dict[Side, Run]:
        """The sides that no run has taken, in the order of the code, with the first run that was asked at their branch.

        Or at the earlier one whose answer decides it. Where the program decides, there is nothing to force.
        """
        came = {side for run in made for side in run.recording.covered}
        asked = {
            side: run
            for run in reversed(made)
            for side in run.recording.covered
            if side[0] in run.policy.asked or side[0] in run.recording.settled
        }
        caught = {site for run in made for site in run.recording.tried}
        missing = {
            (site, not side): run
            for (site, side), run in asked.items()
            if (site, not side) not in came
            and (site, not side) not in tried
            and worth_taking(site, not side)
            and (site in caught or not self.is_refusal(site, not side))
        }
        if not self.walks and not shows_graphs(made):
            missing = {side: run for side, run in missing.items() if self.may_bring_graphs(*side)}
        elif missing:
            concerned = {function for run in made for function in run.recording.concerned()}
            missing = {
                side: run
                for side, run in missing.items()
                if run.recording.covered[side[0], not side[1]] in concerned or not self.is_idle(*side)
            }
        order = {id(run): number for number, run in enumerate(made)}
        return dict(sorted(missing.items(), key=lambda each: (order[id(each[1])], each[0][0].lineno, each[0][0].col_offset)))

    def may_bring_graphs(self, site: ast.AST, side: bool) -> bool:
        """Whether a side of a branch may make a graph or walk one."""
        prospects = self.tape.prospects_at(site)
        return prospects is None or prospects.may_bring_graphs(side_of(site, side))

    def is_refusal(self, site: ast.AST, side: bool) -> bool:
        """Whether a side does nothing but raise: code that works takes the other one, which a run has taken."""
        return isinstance(site, ast.If) and is_raise(side_of(site, side)[-1]) and not self.may_bring_graphs(site, side)

    def is_idle(self, site: ast.AST, side: bool) -> bool:
        """Whether a side of a branch in a function that no graph has met brings none, either."""
        return is_idle_exit(site, side) or not self.may_bring_graphs(site, side)

    def run_once(self, entry: EntryPoint, start: Start, policy: Policy, answers: Mapping[object, bool] = NO_ANSWERS) -> Run:
        """One run; where the code refuses what it had decided, it begins anew and knows better. `answers`: what it knows already."""
        if self.share is not None and self.steps > self.share:
            raise TooDear
        for left in range(MOST_CORRECTIONS - len(answers), 0, -1):
            try:
                return self.run_knowing(entry, start, policy, answers, left)
            except Contradicted as wrong:
                answers = {**answers, wrong.key: wrong.answer}
        return self.run_knowing(entry, start, policy, answers, 0)

    def run_knowing(
        self, entry: EntryPoint, start: Start, policy: Policy, answers: Mapping[object, bool], corrections: int
    ) -> Run:
        interpreter = assembled(policy, self.importer)
        self.tape.interpreters.append(interpreter)
        interpreter.decisions.update(answers)
        interpreter.corrections = corrections
        if not self.importer.keeps_all:
            self.beginnings.clear()  # they hold modules that are read anew
        self.importer.begin(interpreter)
        interpreter.substitutions = self.substitutions
        interpreter.laborious = self.laborious
        interpreter.most += self.more_steps
        interpreter.conventions = self.tape.conventions
        env = Env(self.tape.document) if entry.kind is EntryKind.MODULE else self.defined(interpreter, policy)
        interpreter.recording.env = env
        interpreter.frames.append(Frame(env, self.tape.document.tree, (), (), 0))
        try:
            start(interpreter, env)
        except LIMITS as limit:
            interpreter.recording.ended_by = type(limit)
            if isinstance(limit, RecursionError):
                interpreter.recording.left = interpreter.recording.nodes
        except Stop as stop:
            interpreter.recording.ended_by = interpreter.recording.ended_by or type(stop)
        finally:
            self.steps += interpreter.steps
        self.tape.truncated |= interpreter.recording.ended_by in LIMITS
        in_passing = {site for site, is_decisive in interpreter.recording.asked.items() if not is_decisive}
        pass_over(in_passing, interpreter.recording, policy)
        return Run(entry, interpreter.recording, policy, answers)

    def defined(self, m: Interpreter, policy: Policy) -> Env:
        """The module as its functions find it who are called from elsewhere, with nothing but its definitions run.

        They run once for all runs that answer alike what they ask.
        """
        is_fresh = not m.decisions
        # no run but the last has touched what its beginning holds; modules that several share are put back for each run
        serving = [each for each in self.beginnings if each is not self.resumed or each.serves]
        self.spoiled += len(self.beginnings) - len(serving)
        self.beginnings = serving
        asking = Policy(policy.kind, policy.forced)  # what only looks for the beginning is not asked by the run
        known = next((each for each in self.beginnings if each.is_that_of(m, asking)), None)
        if known is not None:
            env, asked = known.resume(m), known.asked
            for question, _ in asked:
                policy(*question)
        else:
            env, asked = self.newly_defined(m, policy)
            has_room = len(self.beginnings) < MOST_BEGINNINGS and self.spoiled < MOST_SPOILED
            if is_fresh and has_room and not m.recording.walks:
                known = Beginning(m, env, asked)
                self.beginnings.append(known)
        self.resumed = known
        # what decorators ask is nothing that this entry has to see from both sides
        inner = {question[0] for question, _ in asked if not self.is_of_module(question[0])}
        pass_over(inner, m.recording, policy)
        return env

    def newly_defined(self, m: Interpreter, policy: Policy) -> tuple[Env, list[tuple[Question, bool]]]:
        """The module once its definitions have run, with what they asked."""
        env = Env(self.tape.document)
        asked: list[tuple[Question, bool]] = []

        def answer(*question: Any) -> bool:
            asked.append((question, policy(*question)))
            return asked[-1][1]

        m.policy = answer
        define(m, env, self.tape.document.tree.body)
        m.policy = policy
        return env, asked

    def is_of_module(self, site: ast.AST) -> bool:
        """Whether a branch lies in the file, and in no function."""
        document = self.tape.document
        return site in document.parents and document.enclosing(site, FUNCTIONS) is None


def pass_over(sites: set[ast.AST], recording: Recording, policy: Policy) -> None:
    """Forget what a run was asked at branches that its entry does not have to see from both sides."""
    if sites:
        policy.asked -= sites
        recording.covered = {side: where for side, where in recording.covered.items() if side[0] not in sites}


def shows_graphs(runs: Iterable[Run]) -> bool:
    """Whether any of these runs has met a graph, or something that is known to be used for one."""
    return any(run.recording.shows_graphs for run in runs)


def forced_at(run: Run, side: Side) -> Side:
    """What has to be forced for a side of a branch: itself, or a side of the earlier branch whose answer decides it."""
    site, taken = side
    first, goes_other_way = run.recording.settled.get(site, (site, False)) if site not in run.policy.asked else (site, False)
    return first, taken is not goes_other_way

"""Which runs are made: every entry of a file, under a handful of policies that together take both sides of its branches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from graphfix.analysis.call_graph import CallGraph
from graphfix.autograd.gradients import Fates
from graphfix.interpreter.assembly import assembled
from graphfix.interpreter.boundaries import note_boundary
from graphfix.interpreter.calls import instantiate
from graphfix.interpreter.conventions import NO_CONVENTIONS, Conventions
from graphfix.interpreter.frames import Env, Frame
from graphfix.interpreter.imports import Importer, define
from graphfix.interpreter.interning import Key, kind_of, mentions
from graphfix.interpreter.interpreter import Interpreter, OutOfSteps, Stop
from graphfix.interpreter.recording import Recording
from graphfix.interpreter.values import NONE, Class, Function, Instance, Known, Mapping, Opaque, Value
from graphfix.models.words import READS, WALKED_BY_TRAINER, WALKS
from graphfix.source.document import Program

# Statements and calls that all runs over one file may simulate together: a count, so that results do not depend on the clock
TOTAL_STEPS = 40_000
ABRUPT = (ast.Raise, ast.Return, ast.Break, ast.Continue)


@dataclass(eq=False)
class Run:
    """One path through one entry."""

    entry: str
    recording: Recording

    @cached_property
    def fates(self) -> Fates:
        """What becomes of each gradient."""
        return Fates(self.recording.walks, self.recording.updates, self.reads_gradients)

    def reads_gradients(self) -> bool:
        """Whether the program reads a `.grad`: a step that the tape does not see may be made with it."""
        env = self.recording.env
        return env is None or any(
            isinstance(part, ast.Attribute)
            and part.attr == "grad"
            and ast.unparse(part.value) not in ("torch.autograd", "autograd")
            for part in ast.walk(env.program.tree)
        )


@dataclass(eq=False)
class Tape:
    """All runs over one file. `truncated` where the budget ended before every branch was taken."""

    program: Program
    runs: list[Run] = field(default_factory=list)
    truncated: bool = False
    roots: tuple[Path, ...] = ()
    conventions: Conventions = NO_CONVENTIONS

    def again(self, overrides: dict[ast.AST, Callable[[Interpreter, ast.AST, Value], Value]]) -> Tape:
        """The same file with some expressions read differently: how a repair is tried.

        A file that is too large for its budget is not run again: the trial would end early, too, and prove nothing.
        """
        if self.truncated:
            return Tape(self.program, [], True, self.roots, self.conventions)
        explorer = Explorer(self.program, self.roots, self.conventions)
        explorer.overrides = overrides
        return explorer.explore()

    @property
    def modules(self) -> set[object]:
        return {key for run in self.runs for key in run.recording.modules}


class Policy:
    """Answers undecided branches; `forced` goes first. Records what it was asked.

    `kind`: then (take the usual side), else (the other one), late (usual from the second iteration on), early (usual in
    the first iteration only), quiet (usual, but nothing that depends on a loop counter happens).
    """

    def __init__(self, kind: str, forced: dict[ast.AST, bool] | None = None) -> None:
        self.kind = kind
        self.forced = forced or {}
        self.asked: set[ast.AST] = set()
        self.counted = False

    def __call__(self, site: ast.AST, iteration: int, key: object = None, negated: bool = False) -> bool:
        """Whether the branch at `site` is taken; `key` is the question that it asks, `negated` where "no" takes it."""
        self.asked.add(site)
        if site in self.forced:
            return self.forced[site]
        if isinstance(key, Key) and kind_of(key) == "==" and key.parts[-1] is None:
            return negated  # what a caller may leave out is given
        usual = preferred(site)
        periodic = mentions(key, "counter", depth=4)  # a question about the number of an iteration
        self.counted |= periodic
        if isinstance(site, (ast.While, ast.Try)) or leaves(site):
            return usual
        if self.kind == "then":
            return usual
        if self.kind == "quiet":
            return usual is not periodic
        if self.kind == "else":
            return not usual
        return usual if (iteration > 0) is (self.kind == "late") else not usual


def preferred(site: ast.AST) -> bool:
    """The side of a branch that training usually takes: not the one that leaves, no exception handler."""
    if isinstance(site, ast.If):
        return not leaves(site)
    return not isinstance(site, ast.Try)


def leaves(site: ast.AST) -> bool:
    return (
        isinstance(site, ast.If)
        and isinstance(site.body[-1], ABRUPT)
        and not (site.orelse and isinstance(site.orelse[-1], ABRUPT))
    )


class Explorer:
    """Runs the tape over one program."""

    def __init__(self, program: Program, roots: tuple[Path, ...], conventions: Conventions = NO_CONVENTIONS) -> None:
        self.tape = Tape(program, roots=roots, conventions=conventions)
        self.importer = Importer(Path(program.path), roots)
        self.steps = 0
        self.budget = TOTAL_STEPS
        self.kinds: tuple[str, ...] = ("else", "late", "early")
        self.times = 2
        self.overrides: dict[ast.AST, Callable[[Interpreter, ast.AST, Value], Value]] = {}

    def explore(self) -> Tape:
        self.run_entry("module", run_module)
        entered = {definition for run in self.tape.runs for definition in run.recording.entered}
        for name, definition, start in self.entries():
            if self.steps > self.budget:
                self.tape.truncated = True
                break
            if definition not in entered and self.is_relevant(definition):
                for run in self.run_entry(name, start):
                    entered |= run.recording.entered
        return self.tape

    def is_relevant(self, definition: ast.AST) -> bool:
        """Whether the code, or what it calls in this file by name, walks a graph or reads a number out of one."""
        return getattr(definition, "name", "") in WALKED_BY_TRAINER or definition in self.reading

    @cached_property
    def reading(self) -> set[ast.AST]:
        """The functions of this file that lead to a walk or a read."""
        return CallGraph(self.tape.program.tree).leading_to(self.wanted_words())

    def wanted_words(self) -> frozenset[str]:
        """What makes a function worth a run of its own."""
        return WALKS | READS | self.tape.conventions.walking

    def entries(self) -> Iterator[tuple[str, ast.AST, Callable[[Interpreter, Env], None]]]:
        """Functions and methods that the module itself does not reach, callers before callees."""
        body = self.tape.program.tree.body
        functions = [s for s in body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
        called = {
            part.func.id for s in body for part in ast.walk(s) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        for cls in (s for s in body if isinstance(s, ast.ClassDef)):
            yield from self.methods(cls)
        for function in sorted(functions, key=lambda f: f.name in called):
            yield function.name, function, start_function(function)

    def methods(self, cls: ast.ClassDef) -> Iterator[tuple[str, ast.AST, Callable[[Interpreter, Env], None]]]:
        methods = [s for s in cls.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
        called = {part.func.attr for part in ast.walk(cls) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)}
        for method in sorted(methods, key=lambda f: (f.name in called, f.name == "forward")):
            if not (method.name.startswith("__") and method.name != "__call__"):
                yield f"{cls.name}.{method.name}", method, start_method(cls, method, self.times)

    def run_entry(self, name: str, start: Callable[[Interpreter, Env], None]) -> list[Run]:
        """Run one entry under all policies; returns its runs."""
        first = Policy("then")
        made = [self.run_once(name, start, first)]
        if first.asked:
            for kind in (*self.kinds, *(("quiet",) if first.counted else ())):
                if self.steps > self.budget:
                    self.tape.truncated = True
                    break
                made.append(self.run_once(name, start, Policy(kind)))
            made.extend(self.force_uncovered(name, start, made))
        self.tape.runs.extend(made)
        return made

    def force_uncovered(self, name: str, start: Callable[[Interpreter, Env], None], made: list[Run]) -> list[Run]:
        """Runs for the sides of branches that no policy took."""
        extra: list[Run] = []
        tried: set[tuple[ast.AST, bool]] = set()
        for _ in range(5):
            if self.steps > self.budget:
                self.tape.truncated = True
                break
            covered = {side for run in (*made, *extra) for side in run.recording.covered} | tried
            missing = [
                (site, not side) for site, side in covered if (site, not side) not in covered and worth_taking(site, not side)
            ]
            if not missing:
                break
            missing.sort(key=lambda pair: (pair[0].lineno, pair[0].col_offset))
            leaving = [pair for pair in missing if leaves(pair[0])]
            chosen = dict(leaving[:1] if len(leaving) == len(missing) else [p for p in missing if p not in leaving])
            tried.update(chosen.items())
            extra.append(self.run_once(name, start, Policy("then", chosen)))
        return extra

    def run_once(self, name: str, start: Callable[[Interpreter, Env], None], policy: Policy) -> Run:
        interpreter = assembled(policy, self.importer)
        interpreter.overrides = self.overrides
        interpreter.conventions = self.tape.conventions
        env = Env(self.tape.program)
        interpreter.recording.env = env
        interpreter.frames.append(Frame(env, self.tape.program.tree, (), (), 0))
        try:
            start(interpreter, env)
        except (OutOfSteps, RecursionError) as limit:
            interpreter.recording.ended_by = type(limit).__name__
            self.tape.truncated = True
        except Stop as stop:
            interpreter.recording.ended_by = type(stop).__name__
        self.steps += interpreter.steps
        return Run(name, interpreter.recording)


def worth_taking(site: ast.AST, side: bool) -> bool:
    """A side of a branch that holds code."""
    if isinstance(site, ast.If):
        return bool(site.body if side else site.orelse)
    return True


def run_module(m: Interpreter, env: Env) -> None:
    """The file as a script."""
    env.variables["__name__"] = Known("__main__")
    m.execute(env.program.tree.body)


def start_function(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> Callable[[Interpreter, Env], None]:
    def start(m: Interpreter, env: Env) -> None:
        define(m, env, env.program.tree.body)
        function = env.get(definition.name)
        if isinstance(function, Function):
            m.frame.statement = definition
            result = m.call(function, unknown_arguments(function, 0), {}, definition)
            m.escape(result, definition, "returned")
            m.note_reader(result, definition)

    return start


def start_method(
    cls: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef, times: int
) -> Callable[[Interpreter, Env], None]:
    """The method on a fresh object, `times` times: whoever uses the class may call it in a loop."""

    def start(m: Interpreter, env: Env) -> None:
        define(m, env, env.program.tree.body)
        value = env.get(cls.name)
        function = value.attributes.get(method.name) if isinstance(value, Class) else None
        if not isinstance(value, Class) or not isinstance(function, Function):
            return
        m.frame.statement = cls
        instance = make_instance(m, value, cls)
        env.variables["self"] = instance  # so that what it carries from call to call has a name
        entry = m.loop(None)
        for iteration in range(times):
            m.frame.statement = cls
            m.context = ((entry, iteration),)
            if iteration:
                note_boundary(m, entry, {})
            skip = 0 if "staticmethod" in function.wrappers else 1
            arguments = ([instance] if skip else []) + unknown_arguments(function, skip)
            try:
                result = m.call(function, arguments, {}, method)
                if method.name in WALKED_BY_TRAINER and value.is_open():
                    walk_result(m, result, method)
            finally:
                m.context = ()
            m.escape(result, method, "returned")
            m.note_reader(result, method)

    return start


def walk_result(m: Interpreter, result: Value, method: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """The trainer that calls `training_step` walks the loss that it returns."""
    if isinstance(result, Mapping):
        result = result.items.get("loss", NONE)
    returns = [part for part in ast.walk(method) if isinstance(part, ast.Return)]
    if returns and result.node is not None:
        m.backward(returns[-1], [result], function="trainer")


def make_instance(m: Interpreter, cls: Class, site: ast.AST) -> Value:
    initialiser = cls.find("__init__")
    arguments = unknown_arguments(initialiser, 1) if isinstance(initialiser, Function) else []
    try:
        return instantiate(m, cls, arguments, {}, site)
    except Stop:
        return Instance(cls, ("instance", site, m.now()))


def unknown_arguments(function: Function, skip: int) -> list[Value]:
    positional = [*function.definition.args.posonlyargs, *function.definition.args.args][skip:]
    return [Opaque(("parameter", function.key, argument.arg)) for argument in positional]

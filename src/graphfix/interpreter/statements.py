"""How each statement changes a run."""

from __future__ import annotations

import ast
import collections.abc
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from graphfix.autograd.iteration import Context, LoopEntry
from graphfix.interpreter import versions
from graphfix.interpreter.boundaries import as_now, crossing, cuts_nothing, is_unsettled, note_boundary, note_end
from graphfix.interpreter.budget import bounded, rounds_now
from graphfix.interpreter.calls import note_defaults
from graphfix.interpreter.conditions import truth
from graphfix.interpreter.decorators import decorate
from graphfix.interpreter.expressions import evaluate
from graphfix.interpreter.frames import STAR, Env, Frame
from graphfix.interpreter.interning import interned
from graphfix.interpreter.interpreter import BreakLoop, ContinueLoop, Contradicted, Interpreter, Raise, Return, Suspend
from graphfix.interpreter.iteration import LOOP_LIMIT, goes_on, iterate, next_item, note_passed_over, rounds
from graphfix.interpreter.places import assign, delete
from graphfix.interpreter.recording import StoreKind
from graphfix.interpreter.regions import run_try, run_with
from graphfix.interpreter.values import (
    NONE,
    Class,
    Constant,
    Counted,
    External,
    Function,
    Pending,
    Project,
    Sequence,
    Unknown,
    Value,
)
from graphfix.source.subtree import kept_with_node, subtree


def execute(m: Interpreter, body: collections.abc.Sequence[ast.stmt]) -> None:
    """Run a block of statements."""
    frame = m.frame
    at = 0
    try:
        for at, statement in enumerate(body):
            if at and is_raise(statement):
                take_passed_arm(m, body[at - 1])
            frame.statement = statement
            m.tick()
            m.recording.executed.add(statement)
            if m.grad_enabled:
                m.recording.recorded.add(statement)
            handler = STATEMENTS.get(type(statement))
            if handler is None:
                continue
            if statement is body[-1] or m.decorates:
                handler(m, statement)
            else:
                bounded(m, handler, statement)
    except Suspend as waiting:
        waiting.rest.append(partial(execute_rest, m, body[at + 1 :]))
        raise


def execute_rest(m: Interpreter, body: collections.abc.Sequence[ast.stmt], inner: Callable[[], None]) -> None:
    """Run what is left of a statement, and those behind it."""
    inner()
    execute(m, body)


def run_expression(m: Interpreter, s: ast.Expr) -> None:
    evaluate(m, s.value)


def run_assign(m: Interpreter, s: ast.Assign) -> None:
    value = evaluate(m, s.value)
    m.note_use(s.value, value)
    if isinstance(s.value, ast.BinOp) and any(same_place(target, s.value.left) for target in s.targets):
        value = counted(m, s, s.targets[0], value, s.value.op, s.value.right)
    for target in s.targets:
        assign(m, target, value, s.value, StoreKind.ASSIGNED)


def run_annotated(m: Interpreter, s: ast.AnnAssign) -> None:
    if s.value is not None:
        assign(m, s.target, evaluate(m, s.value), s.value, StoreKind.ASSIGNED)


def run_augmented(m: Interpreter, s: ast.AugAssign) -> None:
    left = evaluate(m, s.target)
    right = evaluate(m, s.value)
    m.note_use(s.value, right)
    result = counted(m, s, s.target, m.in_place(s, left, right, s.op), s.op, s.value)
    assign(m, s.target, result, s.value, StoreKind.AUGMENTED)


def same_place(target: ast.expr, source: ast.expr) -> bool:
    if isinstance(target, ast.Name):
        return isinstance(source, ast.Name) and source.id == target.id
    return (
        isinstance(target, ast.Attribute)
        and isinstance(source, ast.Attribute)
        and source.attr == target.attr
        and ast.unparse(target) == ast.unparse(source)
    )


def counted(m: Interpreter, s: ast.stmt, target: ast.expr, value: Value, op: ast.operator, step: ast.expr) -> Value:
    """A number that the iterations of a loop count up or down by `step`, unless each of them begins anew."""
    if not isinstance(value, Constant) or type(value.value) not in (int, float) or not isinstance(op, (ast.Add, ast.Sub)):
        return value
    entry = m.context[-1][0] if m.context else None
    of_call = isinstance(target, ast.Name) and entry is not None and entry.frame is not m.frame
    if entry is None or of_call and target.id not in m.frame.declared or begins_anew(entry.loop, s, ast.unparse(target)):  # type: ignore[attr-defined]
        return value
    positive = isinstance(step, ast.Constant) and isinstance(step.value, (int, float)) and step.value > 0
    return Counted(value.value, up=positive and isinstance(op, ast.Add))


@kept_with_node
def begins_anew(loop: ast.AST | None, counting: ast.stmt, name: str) -> bool:
    """Whether each iteration surely sets the variable `name` before it gets to the statement that counts it."""
    for statement in getattr(loop, "body", ()):
        if not isinstance(statement, ast.AST) or any(part is counting for part in subtree(statement)):
            return False
        if isinstance(statement, ast.Assign) and any(ast.unparse(target) == name for target in statement.targets):
            return True
    return False


def run_if(m: Interpreter, s: ast.If) -> None:
    m.recalled = None
    earlier, m.frame.decided = m.frame.decided, None
    taken = truth(m, s.test, s)
    recalled, decided = m.recalled, m.frame.decided
    m.frame.decided = decided if decided is not None else earlier
    m.recording.covered[s, taken] = m.frame.definition
    if not taken and not s.orelse and decided is not None:
        m.recording.passed[s] = decided
    if m.tries:
        m.recording.tried.add(s)
    try:
        execute(m, s.body if taken else s.orelse)
    except Raise:
        refused, other = (s.body, s.orelse) if taken else (s.orelse, s.body)
        if m.tries or not is_raise(refused[-1]):
            raise
        if recalled is not None and m.corrections > 0:
            raise Contradicted(recalled, not m.decisions[recalled]) from None
        execute(m, other)  # code that is analysed works: what a check would refuse is taken as passed


def take_passed_arm(m: Interpreter, before: ast.stmt) -> None:
    """Return by the last arm of the `if` before a `raise`, if all of its arms were passed by for no known reason.

    Code that is analysed works: `if kind == "a": return A()`, `if kind == "b": return B()`, `raise ValueError(kind)` is to come to an end.
    """
    while isinstance(before, ast.If) and len(before.orelse) == 1 and isinstance(before.orelse[0], ast.If):
        (before,) = before.orelse
    if isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], ast.Return):
        if before in m.recording.asked and not m.tries:
            m.recording.covered[before, True] = m.frame.definition
            execute(m, before.body)


def run_for(m: Interpreter, s: ast.For | ast.AsyncFor) -> None:
    value = evaluate(m, s.iter)
    items = iterate(m, value, s)[: rounds_now(m, s, None)]
    note_passed_over(m, value, len(items))
    entry = m.loop(s)
    entry.goes_on = goes_on(value)

    def starts() -> Iterator[Callable[[], object]]:
        seen: list[Value] = []
        for item in items:
            seen.append(item)
            yield lambda item=item: assign(m, s.target, item, None, StoreKind.ITEM)
        while rounds(s) <= len(seen) < LOOP_LIMIT and is_unsettled(m, entry, len(seen) - 1):
            item = next_item(m, value, seen, s)
            if item is None:
                return
            entry.further = len(items)
            seen.append(item)
            yield lambda item=item: assign(m, s.target, item, None, StoreKind.ITEM)

    run_loop(m, entry, starts(), is_crossed=len(items) > 1)


def run_while(m: Interpreter, s: ast.While) -> None:
    entered = 0
    usual = rounds_now(m, s, rounds(s))
    entry = m.loop(s)
    entry.goes_on = True

    def starts() -> Iterator[Callable[[], object]]:
        nonlocal entered
        while entered < usual or entered < LOOP_LIMIT and is_unsettled(m, entry, entered - 1):
            if entered == usual:
                entry.further = entered
            value = evaluate(m, s.test)
            if value.is_off:
                return
            if not entered and not isinstance(value, Constant) and not m.ask(s, 0):
                return
            entered += 1
            yield lambda: None

    run_loop(m, entry, starts())


def run_loop(m: Interpreter, entry: LoopEntry, starts: Iterable[Callable[[], object]], *, is_crossed: bool = True) -> None:
    """Run the body once for each of `starts`, each in its own iteration. `is_crossed`: there may be more than one."""
    s = entry.loop
    assert isinstance(s, (ast.For, ast.AsyncFor, ast.While))
    outer = m.context
    first: dict[str, tuple[Value, bool]] = {}
    broke = False
    for iteration, start in enumerate(starts):
        m.turns[s] += 1
        m.frame.statement = s
        m.context = (*outer, (entry, iteration))
        if iteration == 0 and is_crossed:
            walkable = m.walkable
            first = {
                name: (as_now(value), cuts_nothing(value, walkable))
                for name, value in crossing(m.frame, s).items()
                if not isinstance(value, (Function, Class))
            }
        elif 0 < iteration < LOOP_LIMIT:
            note_boundary(m, entry, first)
        try:
            start()
            execute(m, s.body)
        except ContinueLoop:
            continue
        except BreakLoop:
            broke = True
            break
        except Suspend as waiting:
            waiting.rest.append(partial(run_rest, m, m.context))
            raise
        finally:
            m.context = outer
            note_end(m, entry, iteration)
    if not broke:
        execute(m, s.orelse)


def run_rest(m: Interpreter, context: Context, inner: Callable[[], None]) -> None:
    """Run what is left of the iteration in which a generator has waited; a context manager comes to no other."""
    outer, m.context = m.context, context
    try:
        inner()
    except (BreakLoop, ContinueLoop):
        pass
    finally:
        m.context = outer


def run_return(m: Interpreter, s: ast.Return) -> None:
    m.frame.returned = returned = evaluate(m, s.value) if s.value is not None else NONE
    if isinstance(s.value, (ast.Tuple, ast.List)) and isinstance(returned, Sequence):
        returned.decided_by = m.frame.decided
    raise Return


def run_break(m: Interpreter, s: ast.Break) -> None:
    raise BreakLoop


def run_continue(m: Interpreter, s: ast.Continue) -> None:
    raise ContinueLoop


def is_raise(s: ast.AST) -> bool:
    """Whether the statement does nothing but raise: `assert False, "unknown kind"` is one."""
    return isinstance(s, ast.Raise) or isinstance(s, ast.Assert) and isinstance(s.test, ast.Constant) and not s.test.value


def run_raise(m: Interpreter, s: ast.Raise) -> None:
    if s.exc is not None:
        evaluate(m, s.exc)
    raise Raise


def run_function(m: Interpreter, s: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    function = Function(s, m.frame.env)
    note_defaults(m, function)
    m.frame.env_of(s.name).variables[s.name] = decorate(m, function, s.decorator_list)


def run_class(m: Interpreter, s: ast.ClassDef) -> None:
    bases = [evaluate(m, base) for base in s.bases]
    env = Env(m.frame.env.document, m.frame.env, is_class=True)
    frame = Frame(env, s, m.trace(), m.context, m.frame.depth + 1)
    m.frames.append(frame)
    try:
        execute(m, s.body)
    finally:
        m.frames.pop()
    cls = Class(s.name, bases, env.variables, s)
    for value in cls.attributes.values():
        if isinstance(value, Function) and value.owner is None:
            value.owner = cls
    if any("dataclass" in ast.unparse(decorator) for decorator in s.decorator_list) or any(
        isinstance(base, External) and base.name.endswith("NamedTuple") for base in bases
    ):
        cls.fields = [item.target.id for item in s.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    m.frame.env_of(s.name).variables[s.name] = cls


def run_import(m: Interpreter, s: ast.Import) -> None:
    env = m.frame.env
    for alias in s.names:
        top = alias.name if alias.asname else alias.name.split(".")[0]
        wanted = alias.name if alias.asname else top
        m.frame.env_of(top).variables[alias.asname or top] = Pending(
            lambda wanted=wanted, top=top: m.importer(m, wanted, env) or External(top)
        )


def run_import_from(m: Interpreter, s: ast.ImportFrom) -> None:
    origin = "." * s.level + (s.module or "")
    env = m.frame.env
    for alias in s.names:
        if alias.name == "*":
            module = m.importer(m, origin, env)
            if isinstance(module, Project):
                env.variables.update(module.env.variables)
            else:  # of two libraries either may have a name
                env.variables[STAR] = External(origin.lstrip(".")) if STAR not in env.variables else NONE
            continue
        env.variables[alias.asname or alias.name] = Pending(lambda name=alias.name: imported(m, origin, name, env))


def imported(m: Interpreter, origin: str, name: str, env: Env) -> Value:
    """`from origin import name`: a name of a module of the project, a module of the project, or something of a library."""
    module = m.importer(m, origin, env)
    if isinstance(module, Project):
        value = module.env.get(name)
        if value is not None:
            return value
    submodule = origin + name if origin.endswith(".") else f"{origin}.{name}"
    return m.importer(m, submodule, env) or versions.of_library(f"{origin.lstrip('.')}.{name}")


def run_declaration(m: Interpreter, s: ast.Global | ast.Nonlocal) -> None:
    how = "global" if isinstance(s, ast.Global) else "nonlocal"
    m.frame.declared.update(dict.fromkeys(s.names, how))


def run_delete(m: Interpreter, s: ast.Delete) -> None:
    for target in s.targets:
        delete(m, target)


def run_assert(m: Interpreter, s: ast.Assert) -> None:
    evaluate(m, s.test)
    if is_raise(s):
        raise Raise


def run_match(m: Interpreter, s: ast.Match) -> None:
    subject = evaluate(m, s.subject)
    for number, case in enumerate(s.cases):
        always = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        if always or m.decide(interned(("match", s, number, m.context)), case.pattern):
            m.recording.covered[case.pattern, True] = m.frame.definition
            for part in subtree(case.pattern):
                name = getattr(part, "name", None) or getattr(part, "rest", None)
                if isinstance(name, str):
                    m.frame.env.variables[name] = (
                        subject if part is case.pattern else Unknown(("match", part, m.now()), subject.node)
                    )
            return execute(m, case.body)
        m.recording.covered[case.pattern, False] = m.frame.definition
    return None


STATEMENTS: dict[type, Callable] = {
    ast.Expr: run_expression,
    ast.Assign: run_assign,
    ast.AnnAssign: run_annotated,
    ast.AugAssign: run_augmented,
    ast.If: run_if,
    ast.For: run_for,
    ast.AsyncFor: run_for,
    ast.While: run_while,
    ast.Return: run_return,
    ast.Break: run_break,
    ast.Continue: run_continue,
    ast.Raise: run_raise,
    ast.Try: run_try,
    ast.With: run_with,
    ast.AsyncWith: run_with,
    ast.FunctionDef: run_function,
    ast.AsyncFunctionDef: run_function,
    ast.ClassDef: run_class,
    ast.Import: run_import,
    ast.ImportFrom: run_import_from,
    ast.Global: run_declaration,
    ast.Nonlocal: run_declaration,
    ast.Delete: run_delete,
    ast.Assert: run_assert,
    ast.Match: run_match,
}
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = run_try

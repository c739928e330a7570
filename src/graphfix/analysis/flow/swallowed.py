"""Whether an error that is raised at a place may be swallowed on its way out: then a run that raises there works all the same."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphfix.analysis.flow import library
from graphfix.analysis.flow.calls import decorators
from graphfix.analysis.flow.circular import true_of_itself
from graphfix.analysis.flow.functions import FUNCTIONS
from graphfix.analysis.flow.places import Place, Result
from graphfix.dataflow.exceptions import ending_of
from graphfix.effects.rows import row_of
from graphfix.ir.instructions import Opaque, Yield
from graphfix.source.subtree import subtree

if TYPE_CHECKING:
    from graphfix.analysis.flow.flow import Flow

# errors that no walk, index or optimizer raises: who catches only these swallows no fault of a graph
OTHERS = frozenset(
    "KeyboardInterrupt SystemExit StopIteration GeneratorExit OSError IOError FileNotFoundError PermissionError ImportError KeyError "
    "ModuleNotFoundError EOFError Empty Full TimeoutError ConnectionError UnicodeDecodeError JSONDecodeError FileExistsError".split()
)
EXITS = ("__exit__", "__aexit__")
# tests that are to fail: https://docs.python.org/3/library/unittest.html#unittest.expectedFailure
EXPECTING = ("expectedFailure", "xfail")


def swallowed(flow: Flow, site: ast.AST, by_runners: bool = True, error: str = "") -> ast.AST | None:
    """The place that may swallow what is raised at `site`, in its function or in one that calls it.

    `by_runners`: also what runs code of the program and keeps its errors to itself, as a test runner does. `error`: the name of
    Python's error, where it is known.
    """
    if by_runners and flow.runners:
        return flow.runners[0]
    known = flow.unswallowed.setdefault((by_runners, error), set())
    seen: set[ast.AST] = set()
    pending = [site]
    while pending:
        node = pending.pop()
        place = swallowed_inside(flow, node, error)
        if place is not None:
            return place
        owner = flow.paths.owner(node)
        if owner is None or owner in seen or owner in known:
            continue
        seen.add(owner)
        if isinstance(owner, (ast.ClassDef, ast.GeneratorExp)):
            pending.append(owner)  # these run where they stand
        elif isinstance(owner, FUNCTIONS):
            place = swallowed_around(flow, owner) or (owner if by_runners and is_run_by_library(flow, owner) else None)
            if place is not None:
                return place
            pending.extend(flow.paths.callers.get(owner) or called_by_name(flow, owner))
    known |= seen
    return None


def called_by_name(flow: Flow, function: ast.AST) -> Sequence[ast.Call]:
    """The calls that may mean a method which nothing in sight calls otherwise."""
    return flow.called_by_name if function in flow.code.class_of else ()


def is_run_by_library(flow: Flow, function: ast.AST) -> bool:
    """Whether nothing in sight calls a method of a class that a library runs by its name, as it does for a `cmd.Cmd`."""
    cls = flow.code.class_of.get(function)
    if cls is None or flow.paths.callers.get(function):
        return False
    bases = (base for each in flow.code.lookup.line(cls) for base in flow.code.bases.get(each, ()))
    return any((row := row_of(base)) is not None and row.swallows for base in bases if base)


def swallowed_inside(flow: Flow, node: ast.AST, error: str) -> ast.AST | None:
    """The `try` or `with` of the same code object that may swallow what is raised at a node."""
    raising = flow.paths.raising(node)
    for each in raising:
        if isinstance(each, Opaque):
            return each.node
        ended = next(ending_of(flow.paths.ways(node), each, lambda match: catches(flow, match.node, error)), None)
        if ended is not None:
            return flow.paths.statement(flow.paths.parents[ended.node]) if is_part(ended.node) else ended.node
    return None


def is_part(node: ast.AST) -> bool:
    """Whether a node is the handler of a `try`, or one of the context managers of a `with`."""
    return isinstance(node, (ast.ExceptHandler, ast.withitem))


def swallowed_around(flow: Flow, function: ast.AST) -> ast.AST | None:
    """The function itself, if what it raises may be swallowed before it comes to a caller in sight."""
    if any(name in decorator for decorator in decorators(function) for name in EXPECTING) or is_in_context(flow, function):
        return function
    if function in flow.calls.handed or function in flow.code.hidden:
        return function  # whoever calls it may catch what it raises, or be a thread of its own
    callers = flow.paths.callers.get(function, ())
    if isinstance(function, ast.AsyncFunctionDef) and not (callers and all(is_awaited(flow, call) for call in callers)):
        return function  # `asyncio.gather` and its kind may keep what a task raises
    return None


def catches(flow: Flow, handler: ast.AST, error: str = "") -> bool:
    """Whether a handler may take an error of torch, or the `error` of this name."""
    if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "") for kind in kinds]
    # the program may call other errors so: `Full = (MemoryError, RuntimeError)`
    renamed = any(isinstance(source, (ast.Tuple, ast.BinOp)) for kind in kinds for source in flow.graph.sources(kind))
    return renamed or not all(name in OTHERS or is_another(flow, kind, error) for kind, name in zip(kinds, names))


def is_another(flow: Flow, kind: ast.expr, error: str) -> bool:
    """Whether a handler names an error of Python's that the `error` cannot be: `ValueError` takes no `RuntimeError`."""
    named, raised = (getattr(builtins, name, None) for name in (getattr(kind, "id", ""), error))
    if not (isinstance(named, type) and isinstance(raised, type)) or flow.graph.sources(kind) != (kind,):
        return False
    return not (issubclass(named, raised) or issubclass(raised, named))


@true_of_itself
def context_may_swallow(flow: Flow, item: ast.withitem) -> bool:
    """Whether a context may swallow errors: it is not known, or code in sight that may."""
    return any(may_swallow(flow, source) for source in flow.graph.sources(item.context_expr))


def is_in_context(flow: Flow, function: ast.AST) -> bool:
    """Whether a context manager in sight that may swallow errors is the decorator of a function.

    https://docs.python.org/3/library/contextlib.html#contextlib.ContextDecorator
    """
    sources = (source for each in getattr(function, "decorator_list", ()) for source in flow.graph.sources(each))
    return any(may_swallow(flow, source) for source in sources if isinstance(source, Result) or makes_object(flow, source))


def makes_object(flow: Flow, source: Place) -> bool:
    """Whether a class in sight is called."""
    return isinstance(source, ast.Call) and any(isinstance(each, ast.ClassDef) for each in flow.graph.sources(source.func))


def may_swallow(flow: Flow, source: Place) -> bool:
    """Whether the context manager that comes from `source` may keep an error from going further."""
    if isinstance(source, Result):
        return holds_its_yield(flow, source.function)
    if not isinstance(source, ast.Call):
        return True
    classes = [each for each in flow.graph.sources(source.func) if isinstance(each, ast.ClassDef)]
    if classes:
        return any(each.bases for each in classes if not exits_of(flow, each)) or any(map(gives_something, exits(flow)))
    generators = [each for each in flow.calls.targets.get(source, ()) if not isinstance(each, ast.Lambda)]
    if generators:
        return any(holds_its_yield(flow, each) for each in generators)
    dotted = flow.code.calls.get(source, "")
    if dotted or not isinstance(source.func, ast.Attribute):
        return library.may_swallow(dotted)
    made = flow.graph.sources(source.func.value)  # a method of an object of such a library: `accelerator.accumulate(model)`
    return not made or any(not isinstance(each, ast.Call) or may_swallow(flow, each) for each in made)


def exits(flow: Flow) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [method for name in EXITS for method in flow.code.methods.get(name, ())]


def exits_of(flow: Flow, cls: ast.ClassDef) -> list[ast.AST]:
    """The methods that end a context of this class, as far as they are in sight."""
    return [method for name in EXITS for method in flow.code.lookup.found(cls, name)]


def gives_something(method: ast.AST) -> bool:
    """Whether a function may return what is true: an `__exit__` that does swallows the error."""
    returns = (part for part in subtree(method) if isinstance(part, ast.Return) and part.value is not None)
    return any(not (isinstance(part.value, ast.Constant) and not part.value.value) for part in returns)


@true_of_itself
def holds_its_yield(flow: Flow, function: ast.AST) -> bool:
    """Whether a generator that is a context may handle what is raised where it yields, or where one yields that it delegates to."""
    ways = flow.paths.through(function)
    yields = [each for each in ways.code.instructions() if isinstance(each, Yield)]
    if any(True for each in yields for _ in ending_of(ways, each, lambda match: catches(flow, match.node))):
        return True
    inner = (each.node.value for each in yields if isinstance(each.node, ast.YieldFrom))
    return any(delegate_may_swallow(flow, source) for given in inner for source in flow.graph.sources(given))


def delegate_may_swallow(flow: Flow, source: Place) -> bool:
    """Whether a generator that another one delegates to is not known, or may handle what is raised where it yields."""
    if isinstance(source, Result):
        return holds_its_yield(flow, source.function)
    targets = flow.calls.targets.get(source, ()) if isinstance(source, ast.Call) else ()
    return not targets or any(holds_its_yield(flow, each) for each in targets)


def is_awaited(flow: Flow, call: ast.Call) -> bool:
    """Whether what a coroutine raises comes out where it is called: it is awaited there, or run."""
    above = flow.paths.parents.get(call)
    return isinstance(above, ast.Await) or isinstance(above, ast.Call) and flow.code.calls.get(above) == "asyncio.run"

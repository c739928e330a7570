"""Whether an error that is raised at a place may be swallowed on its way out: then a run that raises there works all the same."""

from __future__ import annotations

import ast

from graphfix.analysis.flow.calls import decorators
from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.places import Place, Result
from graphfix.analysis.flow.scopes import FUNCTIONS
from graphfix.effects.rows import row_of
from graphfix.effects.table import facts
from graphfix.source.subtree import subtree

# errors that no walk, index or optimizer raises: who catches only these swallows no fault of a graph
OTHERS = frozenset(
    "KeyboardInterrupt SystemExit StopIteration GeneratorExit OSError IOError FileNotFoundError PermissionError ImportError KeyError "
    "ModuleNotFoundError EOFError Empty Full TimeoutError ConnectionError UnicodeDecodeError JSONDecodeError FileExistsError".split()
)
LEAVES = (ast.Return, ast.Break, ast.Continue)
EXITS = ("__exit__", "__aexit__")


TRIES: tuple[type, ...] = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)  # `except*`: Python 3.11


# tests that are to fail: https://docs.python.org/3/library/unittest.html#unittest.expectedFailure
EXPECTING = ("expectedFailure", "xfail")


def swallowed(flow: Flow, site: ast.AST) -> ast.AST | None:
    """The place that may swallow what is raised at `site`, in its function or in one that calls it."""
    seen: set[ast.AST] = set()
    pending = [site]
    while pending:
        node = pending.pop()
        below = node
        while (above := flow.freed.parents.get(below)) is not None:
            if isinstance(above, TRIES) and below in above.body and swallows(above):
                return above
            if isinstance(above, (ast.With, ast.AsyncWith)) and below in above.body and guards(flow, above):
                return above
            if isinstance(above, FUNCTIONS):
                break
            below = above
        if above is not None and above not in seen:
            seen.add(above)
            if any(name in decorator for decorator in decorators(above) for name in EXPECTING):
                return above
            if is_in_context(flow, above):
                return above
            if above in flow.calls.handed:
                return above  # whoever calls it may catch what it raises, or be a thread of its own
            callers = flow.freed.callers.get(above, ())
            if isinstance(above, ast.AsyncFunctionDef) and not (callers and all(is_awaited(flow, call) for call in callers)):
                return above  # `asyncio.gather` and its kind may keep what a task raises
            pending.extend(callers)
    return None


def swallows(statement: ast.Try) -> bool:
    """Whether a `try` may keep an error of torch from going further."""
    if any(isinstance(part, LEAVES) for each in statement.finalbody for part in subtree(each)):
        return True
    return any(catches(handler) and not isinstance(handler.body[-1], ast.Raise) for handler in statement.handlers)


def catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "") for kind in kinds]
    return not all(name in OTHERS for name in names)


def guards(flow: Flow, statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a context may swallow errors: it is not known, or code in sight that may."""
    return any(may_swallow(flow, source) for item in statement.items for source in flow.graph.sources(item.context_expr))


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
        return holds_its_yield(source.function)
    if not isinstance(source, ast.Call):
        return True
    classes = [each for each in flow.graph.sources(source.func) if isinstance(each, ast.ClassDef)]
    if classes:
        return any(each.bases for each in classes if not exits_of(flow, each)) or any(map(gives_something, exits(flow)))
    generators = [each for each in flow.calls.targets.get(source, ()) if not isinstance(each, ast.Lambda)]
    if generators:
        return any(holds_its_yield(each) for each in generators)
    dotted = flow.code.calls.get(source, "")
    if dotted or not isinstance(source.func, ast.Attribute):
        row = row_of(dotted)
        return row.swallows if row is not None else facts(dotted) is None
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


def holds_its_yield(function: ast.AST) -> bool:
    """Whether a generator that is a context may handle what is raised where it yields."""
    for part in subtree(function):
        inner = [each for statement in part.body for each in subtree(statement)] if isinstance(part, TRIES) else []
        if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in inner) and swallows(part):  # type: ignore[arg-type]
            return True
    return False


def is_awaited(flow: Flow, call: ast.Call) -> bool:
    """Whether what a coroutine raises comes out where it is called: it is awaited there, or run."""
    above = flow.freed.parents.get(call)
    return isinstance(above, ast.Await) or isinstance(above, ast.Call) and flow.code.calls.get(above) == "asyncio.run"

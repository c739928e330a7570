"""Whether an error that is raised at a place may be swallowed on its way out: then a run that raises there works all the same."""

from __future__ import annotations

import ast

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.scopes import FUNCTIONS

# errors that no walk, index or optimizer raises: who catches only these swallows no fault of a graph
OTHERS = frozenset(
    "KeyboardInterrupt SystemExit StopIteration GeneratorExit OSError IOError FileNotFoundError PermissionError ImportError KeyError "
    "ModuleNotFoundError EOFError Empty Full TimeoutError ConnectionError UnicodeDecodeError JSONDecodeError FileExistsError".split()
)
LEAVES = (ast.Return, ast.Break, ast.Continue)


TRIES: tuple[type, ...] = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)  # `except*`: Python 3.11


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
            if above in flow.calls.handed:
                return above  # whoever calls it may catch what it raises, or be a thread of its own
            pending.extend(flow.freed.callers.get(above, ()))
    return None


def swallows(statement: ast.Try) -> bool:
    """Whether a `try` may keep an error of torch from going further."""
    if any(isinstance(part, LEAVES) for each in statement.finalbody for part in ast.walk(each)):
        return True
    return any(catches(handler) and not isinstance(handler.body[-1], ast.Raise) for handler in statement.handlers)


def catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "") for kind in kinds]
    return not all(name in OTHERS for name in names)


def guards(flow: Flow, statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a context may swallow errors: it says so, or a method in sight returns something."""
    if any(
        "suppress" in ast.unparse(item.context_expr) or "raises" in ast.unparse(item.context_expr).lower()
        for item in statement.items
    ):
        return True
    exits = [*flow.code.methods.get("__exit__", ()), *flow.code.methods.get("__aexit__", ())]
    made = [
        source for item in statement.items for source in flow.graph.sources(item.context_expr) if source in flow.calls.targets
    ]
    own = any(isinstance(each, ast.ClassDef) for s in made for each in flow.graph.sources(s.func)) or not made  # type: ignore[attr-defined]
    returns = (part for method in exits for part in ast.walk(method) if isinstance(part, ast.Return) and part.value is not None)
    return own and any(not (isinstance(part.value, ast.Constant) and not part.value.value) for part in returns)

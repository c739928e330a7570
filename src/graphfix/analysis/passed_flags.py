"""Flags of a backward pass that come by a parameter: `def step(loss, retain=False): loss.backward(retain_graph=retain)`."""

from __future__ import annotations

import ast

from graphfix.autograd.backward import BackwardPass
from graphfix.lazy_dataclass import dataclass
from graphfix.source.spelling import word
from graphfix.source.subtree import subtree


@dataclass(frozen=True)
class PassedFlag:
    """The `call` that gives the flag to the parameter `name`, and the expression that it gives; None where the default counts."""

    call: ast.Call
    name: str
    value: ast.expr | None


def passed_flag(event: BackwardPass, flag: str) -> PassedFlag | None:
    """Where the caller of the function that goes backward decides about `flag`; None where it does not, or that is not plain to see."""
    named = next((keyword.value for keyword in event.site.keywords if keyword.arg == flag), None)
    if not isinstance(named, ast.Name) or len(event.trace) < 2:
        return None
    function, (_, statement) = event.trace[-1][0].definition, event.trace[-2]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if named.id not in (*positional, *(argument.arg for argument in function.args.kwonlyargs)):
        return None
    if any(isinstance(part, ast.Name) and part.id == named.id and isinstance(part.ctx, ast.Store) for part in subtree(function)):
        return None
    calls = [part for part in subtree(statement) if isinstance(part, ast.Call) and word(part.func) == function.name]
    if len(calls) != 1 or any(isinstance(argument, ast.Starred) for argument in calls[0].args):
        return None
    (call,) = calls
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    is_bound = isinstance(call.func, ast.Attribute) and positional[:1] in (["self"], ["cls"])
    given = dict(zip(positional[is_bound:], call.args)) | {keyword.arg: keyword.value for keyword in call.keywords}
    return PassedFlag(call, named.id, given.get(named.id))

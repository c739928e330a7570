"""What a `Variable(...)` is replaced by: `Variable(x)` is `x.detach()`, which is `x` where there is no graph to cut."""

from __future__ import annotations

import ast

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.runs import Run
from graphfix.analysis.sharing import memory_of, origin
from graphfix.analysis.volatile import flag
from graphfix.interpreter.interning import mentions
from graphfix.interpreter.recording import Alias
from graphfix.interpreter.values import Tensor, Value
from graphfix.lazy_dataclass import dataclass
from graphfix.model import Delete, Operation, RemoveArgument, Replace
from graphfix.repair.fixes import operand
from graphfix.source.subtree import subtree

ARGUMENTS = ("data", "requires_grad", "volatile")
Seen = list[tuple[Run, Alias]]


@dataclass(frozen=True)
class Unwrapped:
    """The text for one `Variable(...)`, and whether no run can tell the difference.

    `alone`: none can, as long as the tensor itself has no graph.
    """

    text: str
    safe: bool
    alone: bool = True


def unwrapped(evidence: Evidence, site: ast.Call, seen: Seen) -> Unwrapped | None:
    """The expression that does the same; None where that is not known."""
    argument = site.args[0] if site.args else next((k.value for k in site.keywords if k.arg == "data"), None)
    if argument is None or "#" in evidence.program.source(site):
        return None
    if any(isinstance(a, ast.Starred) for a in site.args) or any(k.arg not in ARGUMENTS for k in site.keywords):
        return None
    wanted = {flag(alias, "requires_grad") for _, alias in seen}
    sources = [alias.source for _, alias in seen]
    if not all(source.may_be_tensor for source in sources) or len(wanted) != 1:
        return None
    text = operand(evidence, argument)
    fresh = isinstance(argument, (ast.Call, ast.BinOp)) and all(is_new(source) for source in sources)
    if wanted == {True}:
        return Unwrapped(f"{text}.requires_grad_()" if fresh else f"{text}.detach().requires_grad_()", True)
    if wanted != {False}:
        return None
    if any(has_graph(evidence, source) for source in sources):
        return Unwrapped(f"{text}.detach()", True)
    alone = fresh or is_rebound(evidence, site, argument) or all(is_left_alone(run, alias) for run, alias in seen)
    return Unwrapped(evidence.program.source(argument), alone and all(map(is_without_graph, sources)), alone)


def is_new(value: Value) -> bool:
    """Whether a call in place has just made the tensor, so that nobody else holds it."""
    return isinstance(value, Tensor) and value.node is None and value.leaf is None and value.base is None


def has_graph(evidence: Evidence, value: Value) -> bool:
    if value.node is not None:
        return evidence.facts.is_sure(value.node)
    return isinstance(value, Tensor) and value.leaf is not None and value.leaf.requires_grad


def is_without_graph(value: Value) -> bool:
    """Whether the value is known to have no graph: a tensor on the tape, or what a `DataLoader` gives."""
    return value.node is None and (isinstance(value, Tensor) or mentions(value.identity, "DataLoader", depth=7))


def is_rebound(evidence: Evidence, site: ast.Call, argument: ast.expr) -> bool:
    """`x = Variable(x)`: the tensor itself has no name any more."""
    return any(value is site and same(target, argument) for target, value in bindings(evidence, site))


def bindings(evidence: Evidence, site: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What the assignment that holds `site` binds to what, part by part."""
    statement = evidence.program.statement_of(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target, value = statement.targets[0], statement.value
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        return list(zip(target.elts, value.elts)) if len(target.elts) == len(value.elts) else []
    return [(target, value)]


def same(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) == ast.unparse(value)


def is_left_alone(run: Run, alias: Alias) -> bool:
    """Whether nothing gives one of the two a graph or another shape, which the other one would not get."""
    whole = origin(alias.made)
    changed = any(changes and origin(value) is whole for value, changes in run.recording.written)
    return not changed and id(alias.made) not in memory_of(run.recording.given)


def operations(evidence: Evidence, texts: dict[ast.Call, str], may_delete: bool = True) -> list[Operation]:
    """The edits of one statement. `x = Variable(x)` goes as a whole; where it may not, it only loses its flag."""
    outer = {
        site: text for site, text in texts.items() if not any(site in subtree(other) for other in texts if other is not site)
    }
    site = next(iter(outer))
    pairs = bindings(evidence, site)
    if pairs and all(ast.unparse(target) == outer.get(value, ast.unparse(value)) for target, value in pairs):  # type: ignore[call-overload]
        if may_delete:
            return [Delete(evidence.program.span(evidence.program.statement_of(site)))]
        flagged = [call for call in outer if any(keyword.arg == "volatile" for keyword in call.keywords)]
        if flagged:
            return [RemoveArgument(evidence.program.span(call), "volatile") for call in flagged]
    return [Replace(evidence.program.span(call), text) for call, text in outer.items()]

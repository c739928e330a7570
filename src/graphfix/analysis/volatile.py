"""The part of a program that a `volatile` input was to keep from building a graph.

In torch 0.3 whatever was computed from a volatile input had no graph. The tape is asked for that: with each such input
marked by a node of its own, what has that node in its history is what the input was fed into.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from graphfix.analysis.contributors import Facts
from graphfix.analysis.evidence import Evidence
from graphfix.analysis.explore import Tape
from graphfix.analysis.region import Region as Evaluation
from graphfix.analysis.runs import Run
from graphfix.analysis.second_backward import statement_in
from graphfix.autograd.graph import Node
from graphfix.interpreter.interpreter import Interpreter
from graphfix.interpreter.recording import Alias, AliasKind
from graphfix.interpreter.values import Constant, Tensor, Value, nodes_in
from graphfix.lazy_dataclass import dataclass
from graphfix.source.subtree import subtree


@dataclass(frozen=True)
class Region:
    """Adjacent statements that may run without a graph; `safe` where all code that could walk it is in sight."""

    statements: tuple[ast.stmt, ...]
    safe: bool


def flagged(evidence: Evidence) -> set[ast.Call]:
    """The calls of `Variable` in this file that are told to be volatile, as far as runs reach them."""
    return {
        alias.site
        for run in evidence.tape.runs
        for alias in run.recording.aliases
        if alias.kind is AliasKind.VARIABLE and isinstance(alias.site, ast.Call) and evidence.program.holds(alias.site)
        if flag(alias, "volatile") is True
    }


def flagged_in(evidence: Evidence, held: Evaluation) -> set[ast.Call]:
    """Those calls that stand in an evaluation, with the flag written out: what is passed on is another caller's business, too."""
    return {
        site
        for site in flagged(evidence)
        if evidence.program.statement_of(site) in held.statements
        and any(k.arg == "volatile" and isinstance(k.value, ast.Constant) for k in site.keywords)
    }


def flag(alias: Alias, name: str) -> bool | None:
    """The value of a flag; None where it is not known."""
    value = alias.keywords.get(name, Constant(False))
    return value.truth if isinstance(value, Constant) else None


def marked(m: Interpreter, node: ast.AST, value: Value) -> Value:
    """The value as the start of a graph of its own."""
    start = m.record(node, [], False, force=True)
    if start is None or not isinstance(value, Tensor):
        return value
    start.certain = True
    return Tensor(start, None, value.single, value.base, shape=value.shape)


def trial(evidence: Evidence, sites: Iterable[ast.expr]) -> Tape:
    return evidence.tape.replay({site: marked for site in sites})


def region(evidence: Evidence, tried: Tape, sites: set[ast.Call]) -> Region | None:
    """The statements that compute something from `sites`; empty where no graph is built, None where they cannot be told."""
    if tried.truncated:
        return None
    consumers: dict[ast.stmt, None] = {}
    for run in tried.runs:
        for start, nodes in fed(run, sites):
            if not nodes and leaves_sight(run, start):
                return None
            for node in nodes:
                statement = statement_in(node.trace, start.trace[-1][0])
                if statement is None:
                    return None  # whoever called this function goes on with it
                consumers[statement] = None
    if not consumers:
        return Region((), True)
    block = common_block(evidence, next(iter(sites)), set(consumers))
    return checked(evidence, tried, block, sites) if block and evidence.program.file_of(block[0]).torch else None


def computed_from(tried: Tape, sites: set[ast.Call]) -> set[ast.stmt]:
    """The statements that compute something from `sites`, in the functions that these stand in."""
    made = ((start, node) for run in tried.runs for start, nodes in fed(run, sites) for node in nodes)
    statements = (statement_in(node.trace, start.trace[-1][0]) for start, node in made)
    return {statement for statement in statements if statement is not None}


def fed(run: Run, sites: set[ast.Call]) -> list[tuple[Node, list[Node]]]:
    """Each marked input, and the nodes that were made from it."""
    found: dict[Node, tuple[set[Node], list[Node]]] = {}
    for node in run.recording.nodes:
        if node.site in sites and not node.parents:
            found[node] = ({node}, [])
            continue
        for below, made in found.values():
            if any(parent in below for parent in node.parents):
                below.add(node)
                made.append(node)
    return [(start, made) for start, (_, made) in found.items()]


def leaves_sight(run: Run, start: Node) -> bool:
    """Whether code that is not in sight may compute something from the input."""
    kept = run.recording.kept if not run.entry.is_module else []
    return start in run.recording.escapes or any(start in nodes_in(value) for value in kept)


def common_block(evidence: Evidence, site: ast.AST, wanted: set[ast.stmt]) -> list[ast.stmt]:
    """The adjacent statements of the innermost block around `site` that hold all of `wanted`."""
    program = evidence.program
    statement = program.statement_of(site)
    while True:
        block = program.block_of(statement)
        holding = [index for index, item in enumerate(block) if any(part in wanted for part in subtree(item))]
        held = {part for index in holding for part in subtree(block[index])}
        if wanted <= held:
            return block[holding[0] : holding[-1] + 1]
        above = program.parent(statement)
        while above is not None and not isinstance(above, ast.stmt):
            above = program.parent(above)
        if above is None or isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return []
        statement = above


def checked(evidence: Evidence, tried: Tape, block: list[ast.stmt], sites: set[ast.Call]) -> Region | None:
    """The region, where no walk lies in it and none walks what it makes."""
    inside = {part for statement in block for part in subtree(statement)}
    if any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in inside):
        return None
    facts = Facts(tried)
    safe = True
    for run in tried.runs:
        if any(passes(event.trace, inside) for event in run.recording.walks):
            return None
        for node in run.recording.nodes:
            if node.site in sites or not passes(node.trace, inside):
                continue
            if node.walks:
                return None
            safe = safe and facts.is_sure(node) and not escapes(run, node, facts)
    return Region(tuple(block), safe)


def passes(trace: tuple, inside: set[ast.AST]) -> bool:
    return any(statement in inside for _, statement in trace)


def escapes(run: Run, node: Node, facts: Facts) -> bool:
    """Whether code gets hold of the node that may call backward() on it: a module that is only called does not."""
    modules = {birth.site for birth in run.recording.nodes if birth.callee is not None and facts.is_sure(birth)}
    return any(site not in modules for site, _, _ in run.recording.escapes.get(node, ()))

"""Repairs for a write in place to a leaf that requires grad: it is not recorded, it is to a copy, or the leaf is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.leaf_writes import leaf_writes, view_of
from graphfix.interpreter.recording import LeafWrite
from graphfix.model import Append, Ground, InsertBefore, Operation, RemoveArgument, Wrap
from graphfix.repair.candidate import Candidate, Effect
from graphfix.source.names import locals_of
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

MEANT = "the write may be meant to be a part of the graph"
COPIED = "the tensor itself then keeps what it held"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def written_apart(evidence: Evidence, write: LeafWrite) -> Iterator[Candidate]:
    """A total that starts as a leaf starts as none, as does a buffer of results; what is no parameter is copied before the writes; a view is taken
    of the detached leaf; else each write runs under `no_grad`."""
    program, made = evidence.program, write.leaf.site
    statements = writing(evidence, write)
    carries = any(has_graph(evidence, each) for each in statements)
    keywords = made.keywords if isinstance(made, ast.Call) and program.holds(made) else []
    if (write.is_total or carries) and any(each.arg == "requires_grad" for each in keywords) and made is not None:
        title = f"start with a tensor that does not require grad: `{short(program.source(made), 30)}`"
        yield apart(title, RemoveArgument(program.span(made), "requires_grad"))
    if carries or is_passing(evidence, write, statements):
        yield from copied(evidence, write, statements)
        return
    base = base_of(write)
    if base is not None and program.holds(base):
        yield apart(f"write to `{short(program.source(base), 30)}.detach()`", Append(program.span(base), ".detach()"))
    torch = program.file_of(write.site).torch
    if torch is not None and statements:
        yield apart("write under no_grad", *(Wrap((program.span(each),), f"with {torch}.no_grad():") for each in statements))


def apart(title: str, *operations: Operation) -> Candidate:
    return Candidate(Effect.UNRECORDED, title, operations, Ground.RAISES, MEANT)


def writing(evidence: Evidence, write: LeafWrite) -> list[ast.stmt]:
    """The statements that write to the leaf, or view, of a write."""
    group = next((each for each in leaf_writes(evidence) if any(one.site is write.site for one in each)), [])
    return [evidence.program.statement_of(each.site) for each in group]


def has_graph(evidence: Evidence, statement: ast.stmt) -> bool:
    """Whether what a statement writes has a graph, which is trained by it."""
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        given = [statement.value]
    else:
        call = statement.value if isinstance(statement, ast.Expr) else None
        given = [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
    return any(use.nodes for each in given if each is not None for use in evidence.facts.uses.get(each, ()))


def is_passing(evidence: Evidence, write: LeafWrite, statements: list[ast.stmt]) -> bool:
    """Whether the leaf is a value on its way through the network, which was told to require grad: nothing steps it or asks for its gradient."""
    leaf, place = write.leaf, target_of(write, statements)
    if not leaf.is_flagged or leaf.is_parameter or leaf.trained or place is None:
        return False
    name = ast.unparse(place)
    reads = (
        part for part in subtree(evidence.program.tree_of(write.site)) if isinstance(part, ast.Attribute) and part.attr == "grad"
    )
    return not any(ast.unparse(part.value) == name for part in reads)


def copied(evidence: Evidence, write: LeafWrite, statements: list[ast.stmt]) -> Iterator[Candidate]:
    """A copy in front of the first write, which is no leaf, and to which all writes go."""
    program, place = evidence.program, target_of(write, statements)
    if place is None:
        return
    scope = program.enclosing(statements[0], FUNCTIONS)
    if isinstance(place, ast.Name) and isinstance(scope, FUNCTIONS) and place.id not in locals_of(scope):
        return
    text = ast.unparse(place)
    edit = InsertBefore(program.span(statements[0]), f"{text} = {text}.clone()")
    yield Candidate(
        Effect.COPY, f"write to a copy: `{short(text, 20)} = {short(text, 20)}.clone()`", (edit,), Ground.RAISES, COPIED
    )


def target_of(write: LeafWrite, statements: list[ast.stmt]) -> ast.expr | None:
    """The name or attribute that holds the leaf where it is first written to."""
    part: ast.AST | None = base_of(write) or write.target
    while isinstance(part, (ast.Subscript, ast.Call)):
        part = (
            part.value if isinstance(part, ast.Subscript) else part.func.value if isinstance(part.func, ast.Attribute) else None
        )
    is_plain = isinstance(part, ast.Name) or isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
    return part if statements and is_plain and isinstance(part, ast.expr) else None


def base_of(write: LeafWrite) -> ast.expr | None:
    """The expression of the leaf of which a view is written."""
    view = view_of(write)
    site = view.site if view is not None else None
    if isinstance(site, ast.Subscript):
        return site.value if isinstance(site.ctx, ast.Load) else None
    return site.func.value if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else None

"""Repairs for a write in place to a leaf that requires grad: it is not recorded, or the leaf is none."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.leaf_writes import leaf_writes, view_of
from graphfix.interpreter.recording import LeafWrite
from graphfix.model import Append, Ground, Operation, RemoveArgument, Wrap
from graphfix.repair.candidate import Candidate, Effect
from graphfix.source.quote import short

MEANT = "the write may be meant to be a part of the graph"


def written_apart(evidence: Evidence, write: LeafWrite) -> Iterator[Candidate]:
    """A total that starts as a leaf starts as none; a view is taken of the detached leaf; else each write runs under `no_grad`."""
    program, made = evidence.program, write.leaf.site
    keywords = made.keywords if isinstance(made, ast.Call) and program.holds(made) else []
    if write.is_total and any(each.arg == "requires_grad" for each in keywords) and made is not None:
        title = f"start with a tensor that does not require grad: `{short(program.source(made), 30)}`"
        yield apart(title, RemoveArgument(program.span(made), "requires_grad"))
    base = base_of(write)
    if base is not None and program.holds(base):
        yield apart(f"write to `{short(program.source(base), 30)}.detach()`", Append(program.span(base), ".detach()"))
    group = next((each for each in leaf_writes(evidence) if any(one.site is write.site for one in each)), [])
    statements = [program.statement_of(each.site) for each in group]
    torch = program.file_of(write.site).torch
    if torch is not None and statements:
        yield apart("write under no_grad", *(Wrap((program.span(each),), f"with {torch}.no_grad():") for each in statements))


def apart(title: str, *operations: Operation) -> Candidate:
    return Candidate(Effect.UNRECORDED, title, operations, Ground.RAISES, MEANT)


def base_of(write: LeafWrite) -> ast.expr | None:
    """The expression of the leaf of which a view is written."""
    view = view_of(write)
    site = view.site if view is not None else None
    if isinstance(site, ast.Subscript):
        return site.value if isinstance(site.ctx, ast.Load) else None
    return site.func.value if isinstance(site, ast.Call) and isinstance(site.func, ast.Attribute) else None

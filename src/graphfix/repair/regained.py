"""Repairs for a loss that has lost its graph: the expression without what cuts it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.lost_graphs import lost_graphs
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.recording import Bare
from graphfix.model import Ground, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.source.quote import short

MEANT = "the graph may be cut on purpose, and another loss be meant"
# what reads a number out of a tensor
TITLES = {
    How.SWITCHED_OFF: ("leave recording on", "code that follows may be meant to run without recording"),
    How.FROZEN: ("let the parameters need gradients", "the code does not show which parameters are to be trained"),
}
READS = ("item", "tolist", "numpy")


def regained(evidence: Evidence, bare: Bare) -> Iterator[Candidate]:
    """The value that the cut was made of in its place: `x` for `x.detach()`, for `x.data`, and for `torch.tensor(x.item())`."""
    lost = next((each for each in lost_graphs(evidence) if each.bare.site is bare.site), None)
    # of two branches that freeze all between them, the other one was most often copied from the first
    every = lost.every if lost is not None else ()
    for cut in reversed(every):
        yield from switched(evidence, cut, is_one_of_several=len(every) > 1)
    whole = origin(lost.severed) if lost is not None else None
    if lost is not None and whole is not None:
        text = evidence.program.source(whole)
        title = f"go on with the graph of `{short(text, 30)}`"
        yield Candidate(Effect.UNCUT, title, (Replace(evidence.program.span(lost.severed.site), text),), Ground.RAISES, MEANT)


def switched(evidence: Evidence, cut: Severed, *, is_one_of_several: bool) -> Iterator[Candidate]:
    """`True` for the `False` that switches recording off, or that tells parameters to need no gradient."""
    flag = flag_of(evidence, cut.site) if cut.how in TITLES else None
    if flag is not None:
        title, doubt = TITLES[cut.how]
        if is_one_of_several:
            title += f" in line {flag.lineno}"
        yield Candidate(Effect.UNCUT, title, (Replace(evidence.program.span(flag), "True"),), Ground.RAISES, doubt)


def flag_of(evidence: Evidence, site: ast.AST) -> ast.Constant | None:
    """The `False` of a call, or of the assignment of an attribute, that is given no other one."""
    statement = evidence.program.statement_of(site)
    parts: list[ast.expr] = []
    if isinstance(site, ast.Call):
        parts = [*site.args, *(keyword.value for keyword in site.keywords)]
    elif isinstance(statement, ast.Assign):
        parts = [statement.value]
    flags = [part for part in parts if isinstance(part, ast.Constant) and part.value is False]
    return flags[0] if len(flags) == 1 else None


def origin(cut: Severed) -> ast.expr | None:
    """What a cut was made of, where that can stand in its place; None where the cut computes something of it."""
    site = cut.site
    if cut.how is How.CONSTANT and isinstance(site, ast.Attribute) and site.attr == "data":
        return site.value
    if not isinstance(site, ast.Call):
        return None
    if cut.how is How.CONSTANT and isinstance(site.func, ast.Attribute) and site.func.attr == "detach":
        return site.func.value
    given = site.args[0] if site.args and cut.how is How.COPIED else None
    return given if isinstance(given, (ast.Name, ast.Attribute)) else read_from(given)


def read_from(part: ast.expr | None) -> ast.expr | None:
    """The tensor of which an expression reads the number, as `x` of `x.item()` and of `float(x)`."""
    if not isinstance(part, ast.Call):
        return None
    if isinstance(part.func, ast.Attribute) and part.func.attr in READS:
        return part.func.value
    return part.args[0] if isinstance(part.func, ast.Name) and part.func.id == "float" and len(part.args) == 1 else None

"""Repairs for a loss that has lost its graph: the expression without what cuts it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.analysis.lost_graphs import lost_graphs
from graphfix.autograd.severed import How, Severed
from graphfix.interpreter.recording import Bare
from graphfix.interpreter.values import Sequence, Tensor
from graphfix.model import Delete, Ground, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.checkpoint import MEANT_TO_TRAIN, recorded_anyway
from graphfix.source.quote import short
from graphfix.source.subtree import subtree

MEANT = "the graph may be cut on purpose, and another loss be meant"
# what reads a number out of a tensor
TITLES = {
    How.SWITCHED_OFF: ("leave recording on", "code that follows may be meant to run without recording"),
    How.FROZEN: ("let the parameters need gradients", "the code does not show which parameters are to be trained"),
}
READS = ("item", "tolist", "numpy")


def regained(evidence: Evidence, bare: Bare) -> Iterator[Candidate]:
    """The value that the cut was made of in its place.

    `x` for `x.detach()`, for `x.data`, and for `torch.tensor(x.item())`; `torch.stack(xs)` for `torch.tensor(xs)`.
    """
    lost = next((each for each in lost_graphs(evidence) if each.bare.site is bare.site), None)
    # of two branches that freeze all between them, the other one was most often copied from the first
    every = lost.every if lost is not None else ()
    for cut in reversed(every):
        yield from switched(evidence, cut, is_one_of_several=len(every) > 1)
    if lost is None:
        return
    cut, flag = lost.severed, bare.flag
    if cut.how is How.CHECKPOINTED and isinstance(cut.site, ast.Call):
        yield Candidate(Effect.UNCUT, *recorded_anyway(evidence, cut, cut.site), Ground.RAISES, MEANT_TO_TRAIN)
        return
    whole = wrapped(evidence, cut.site) if cut.site is flag else None
    whole = origin(cut) if whole is None else whole
    text = stacked(evidence, cut) or (evidence.program.source(whole) if whole is not None else "")
    edits = uncut(evidence, cut.site, text, flag if flag is not cut.site else None) if text else ()
    if edits:
        further = {each.site: stacked(evidence, each) for each in bare.others if each.site is not cut.site}
        edits += tuple(instead(evidence, site, made) for site, made in further.items() if made)
    if edits:
        yield Candidate(Effect.UNCUT, f"go on with the graph of `{short(text, 30)}`", edits, Ground.RAISES, MEANT)


def stacked(evidence: Evidence, cut: Severed) -> str | None:
    """`torch.stack(xs)`, where a tensor is made of a list of tensors: https://docs.pytorch.org/docs/stable/generated/torch.stack.html."""
    given = cut.site.args[0] if cut.how is How.COPIED and isinstance(cut.site, ast.Call) and cut.site.args else None
    uses = evidence.facts.uses.get(given, []) if given is not None else []
    is_list = bool(uses) and all(isinstance(use.value, Sequence) and all(isinstance(item, Tensor) for item in use.value.items) for use in uses)
    torch = evidence.program.file_of(cut.site).torch if evidence.program.holds(cut.site) else None
    return f"{torch}.stack({evidence.program.source(given)})" if is_list and torch is not None and given is not None else None


def uncut(evidence: Evidence, cut: ast.AST, text: str, flag: ast.AST | None) -> tuple[Operation, ...]:
    """The edits that put what was cut in the place of the cut, and leave out what tells the loss to require grad; none where that cannot be.

    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html: what has a graph need not be told, and a new
    `Variable` would have none.
    """
    if flag is None:
        return (instead(evidence, cut, text),)
    if not evidence.program.holds(flag):
        return ()
    statement = evidence.program.statement_of(flag)
    flagged = statement.value if isinstance(statement, ast.Expr) else statement.targets[0] if isinstance(statement, ast.Assign) else None
    if flagged is flag:
        return (instead(evidence, cut, text), Delete(evidence.program.span(statement)))
    kept = wrapped(evidence, flag)
    if kept is None and isinstance(flag, ast.Call) and isinstance(flag.func, ast.Attribute):
        kept = flag.func.value
    if kept is None:
        return ()
    if cut in set(subtree(kept)):
        return (instead(evidence, flag, with_part(evidence, kept, cut, text)),)
    return (instead(evidence, cut, text), instead(evidence, flag, evidence.program.source(kept)))


def wrapped(evidence: Evidence, site: ast.AST) -> ast.expr | None:
    """What a `Variable` is made of."""
    is_one = any(alias.site is site for run in evidence.tape.runs for alias in run.recording.aliases)
    return next(iter(site.args), None) if is_one and isinstance(site, ast.Call) else None


def with_part(evidence: Evidence, whole: ast.expr, part: ast.AST, text: str) -> str:
    """The source of an expression with `text` in the place of a part of it."""
    around, inner = evidence.program.span(whole), evidence.program.span(part)
    data = evidence.program.source(whole).encode("utf-8", "surrogatepass")
    made = data[: inner.start - around.start] + text.encode("utf-8", "surrogatepass") + data[inner.end - around.start :]
    return made.decode("utf-8", "surrogatepass")


def instead(evidence: Evidence, site: ast.AST, text: str) -> Operation:
    """`text` in the place of an expression; nothing where a variable would only be given to itself."""
    statement = evidence.program.statement_of(site)
    if isinstance(statement, ast.Assign) and statement.value is site and list(map(evidence.program.source, statement.targets)) == [text]:
        return Delete(evidence.program.span(statement))
    return Replace(evidence.program.span(site), text)


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

"""Repairs for a backward pass from a loss for each sample: their mean, or their sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Store, StoreKind, Unreduced
from graphfix.model import Append, Ground, Operation, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.repair.fixes import operand
from graphfix.source.quote import short

OTHER = "the code does not show whether the mean or the sum of the losses is meant"


def reduced(evidence: Evidence, loss: Unreduced) -> Iterator[Candidate]:
    """`.mean()`, or `.sum()`, where the loss gets its name, as numbers that are read of it later need one element, too; else in front of `backward()`."""
    place = named_at(evidence, loss) or loss.receiver
    if place is None:
        return
    text, plain, span = operand(evidence, place), evidence.program.source(place), evidence.program.span(place)
    for word in ("mean", "sum"):
        edit: Operation = Append(span, f".{word}()") if text == plain else Replace(span, f"{text}.{word}()")
        yield Candidate(Effect.REDUCE, f"take the {word} of `{short(plain, 30)}`", (edit,), Ground.RAISES, OTHER)


def named_at(evidence: Evidence, loss: Unreduced) -> ast.expr | None:
    """The expression of which the receiver of `backward()` has its value, in the same function."""
    receiver = ast.unparse(loss.receiver) if isinstance(loss.receiver, (ast.Name, ast.Attribute)) else ""
    known = (each for each in loss.root.stores if isinstance(each, Store))
    stores = [each for each in known if names(each, receiver) and each.trace[-1][0] is loss.trace[-1][0]]
    site = stores[-1].value_site if stores else None
    return site if site is not None and evidence.program.holds(site) else None


def names(store: Store, receiver: str) -> bool:
    """Whether a value is assigned to a name."""
    return (
        store.kind is StoreKind.ASSIGNED
        and isinstance(store.target, (ast.Name, ast.Attribute))
        and ast.unparse(store.target) == receiver
    )

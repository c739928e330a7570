"""Repairs for a gradient that is asked for an item which the outputs were not computed from: the item of the gradient of the whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.evidence import Evidence
from graphfix.interpreter.recording import Unused
from graphfix.model import Append, Ground, Replace
from graphfix.repair.candidate import Candidate, Effect
from graphfix.source.quote import short

MEANT = "the model may be meant to be given the item"


def of_the_whole(evidence: Evidence, unused: Unused) -> Iterator[Candidate]:
    """`grad(y, x, ...)[0][i]` for `grad(y, x[i], ...)[0]`."""
    program, place = evidence.program, unused.place
    taken = program.parent(unused.site)
    is_first = isinstance(taken, ast.Subscript) and isinstance(taken.slice, ast.Constant) and taken.slice.value == 0
    if taken is None or not is_first or not isinstance(place, ast.Subscript):
        return
    whole, item = program.source(place.value), program.source(place)
    edits = (Replace(program.span(place), whole), Append(program.span(taken), item[len(whole) :]))
    yield Candidate(Effect.WHOLE, f"take the item of the gradient of `{short(whole, 20)}`", edits, Ground.RAISES, MEANT)

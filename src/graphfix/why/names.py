"""The code of the user in the patterns that are shown: `loss` is what the line at fault goes backward from."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from graphfix.why.kinds import Kind, Way
from graphfix.why.places import Place

LONGEST = 60  # characters of an expression that takes the place of a name


def with_names(change: str, kind: Kind, place: Place) -> str:
    """The lines of a change with the user's expression for the name that stands for it, where the line at `place` has one."""
    if kind.stands is None or place.cell is not None:
        return change
    name, method = kind.stands
    found = receiver_at(place.source.text, place.row, method)
    return re.sub(rf"\b{name}\b", lambda match: found, change) if found else change


def fitting(ways: Sequence[Way], kind: Kind, place: Place) -> Sequence[Way]:
    """The causes that the line at `place` may have: where it calls the method that the error is about, those whose change does."""
    if kind.stands is None or place.cell is not None or not receiver_at(place.source.text, place.row, kind.stands[1]):
        return ways
    return [way for way in ways if f".{kind.stands[1]}(" in way.change] or ways


def receiver_at(text: str, row: int, method: str) -> str:
    """What the code at a line calls `method` on; empty where it does not, or that is long, or the code is none of Python 3."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = {
        ast.unparse(part.func.value)
        for part in ast.walk(tree)
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == method
        and part.lineno <= row <= (part.end_lineno or row)
    }  # fmt: skip
    text = found.pop() if len(found) == 1 else ""
    return text if len(text) <= LONGEST else ""

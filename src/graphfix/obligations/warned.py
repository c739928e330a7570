"""Whether a program sees what torch warns of: that a number is taken out of a tensor that requires a gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from graphfix.analysis.flow.flow import Flow
from graphfix.analysis.flow.functions import arguments
from graphfix.analysis.flow.places import Reach, Use
from graphfix.analysis.flow.swallowed import swallowed
from graphfix.effects.rows import row_of
from graphfix.effects.schema import Observes
from graphfix.effects.table import facts
from graphfix.obligations.inquiry import Open
from graphfix.obligations.numeric_equivalence import comes_back

KINDS = ("record", "expected_warning", None)  # keywords that say that warnings are to be seen, and which
ACTIONS = ("action", None)


def warned(flow: Flow, reach: Reach) -> Iterator[Open]:
    """The places that see a warning which torch gives of what `reach` says of."""
    telling = [(call, row) for call, dotted in flow.code.calls.items() if dotted and (row := row_of(dotted)) and row.observes is Observes.WARNINGS]
    if not telling:
        return
    numbers = [use for place, _ in reach.places for use in flow.graph.uses.get(place, ()) if takes_number_out(use)]
    for call, row in telling if numbers else ():
        raises = makes_errors(call) and any(swallowed(flow, use.site, error="UserWarning") for use in numbers)
        does = "sees warnings" if is_seen(flow, call, row.runs) else "makes errors of warnings" if raises else ""
        if does:
            yield Open(call, f"{does}, which torch gives of a number that is taken out of a graph")


def takes_number_out(use: Use) -> bool:
    """Whether a number of Python's may be made of a tensor: `float(x)`, `math.sqrt(x)`, `"%f" % x`, `torch.tensor([x])`."""
    if use.how == "text":
        return isinstance(use.site, ast.BinOp)
    if use.how not in ("argument", "handed"):
        return False
    row, known = row_of(use.name), facts(use.name)
    return row.takes_numbers if row is not None else known is not None and known.factory


def is_seen(flow: Flow, call: ast.Call, runs: str) -> bool:
    """Whether a call leads warnings to where the program looks at them: `catch_warnings(record=True)`, `captureWarnings(True)`, `redirect_stderr(text)`.

    `runs`: the methods that are told of them.
    """
    given = given_as(call, KINDS)
    if all(isinstance(each, ast.Constant) and not each.value for each in given):
        return False
    if runs and any(name in flow.code.methods for name in runs.split()):
        return True
    logs = [each for each, dotted in flow.code.calls.items() if runs and dotted.startswith("logging.")]
    channels = [*given, *(argument for each in logs for argument in arguments(each))]
    made = any(isinstance(source, ast.Call) for each in given for source in flow.graph.sources(each))
    return comes_back(flow, channels, logs) if runs or made else not is_action(given)


def makes_errors(call: ast.Call) -> bool:
    """Whether a filter may make errors of warnings: `simplefilter("error")`."""
    return any(not isinstance(each, ast.Constant) or each.value == "error" for each in given_as(call, ACTIONS)[:1])


def is_action(given: list[ast.expr]) -> bool:
    """Whether a call is told what becomes of warnings, which is a text."""
    return bool(given) and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str)


def given_as(call: ast.Call, names: tuple[str | None, ...]) -> list[ast.expr]:
    """What is given by position, or by one of these names."""
    return [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg in names)]

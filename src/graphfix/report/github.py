"""Findings as workflow commands: GitHub makes annotations of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from graphfix.report.places import Region
from graphfix.report.remedy import remedy
from graphfix.report.report import extent, problem, unfinished
from graphfix.report.text import Line, Piece
from graphfix.report.view import Told, View, legible, rooted
from graphfix.run.outcome import Outcome, Status

FEW = 12  # changed lines


def lines(view: View) -> Iterator[Line]:
    view = rooted(view, "GITHUB_WORKSPACE")
    yield from view.each(view.failed(), lambda outcome: [_failure(view, outcome)])
    yield from view.each(view.told(), lambda told: [_finding(view, told)])
    cut = list(view.each(view.unfinished(), lambda outcome: [_unfinished(view, outcome)]))
    yield from cut
    if cut:
        yield _command("notice", {"title": "graphfix"}, extent(view.outcomes))


def _failure(view: View, outcome: Outcome) -> Line:
    level = "warning" if outcome.status is Status.SKIPPED else "error"
    place = {"line": outcome.row, "col": outcome.column} if outcome.row and outcome.cell is None else {}
    properties = {"title": "graphfix", "file": view.name(outcome.path), **place}
    return _command(level, properties, problem(outcome))


def _unfinished(view: View, outcome: Outcome) -> Line:
    return _command("notice", {"title": "graphfix", "file": view.name(outcome.path)}, unfinished(outcome))


def _finding(view: View, told: Told) -> Line:
    finding = told.finding
    name = view.name(finding.path)
    properties: dict[str, object] = {"title": f"graphfix ({finding.code} {finding.name})", "file": name}
    region = told.files.region(finding.path, finding.span)
    where = ""
    if region is not None:
        properties |= _place(region)
        where = f":{region.start.row}" + ("" if region.cell is not None else f":{region.start.column}")
    level = finding.severity.value
    cell = f"cell {region.cell + 1}: " if region is not None and region.cell is not None else ""
    return _command(level, properties, "\n".join((f"{name}{where}: {finding.code} {cell}{finding.message}", *remedy(finding), *_made(told))))


def _made(told: Told) -> Iterator[str]:
    """The lines that the fix removes and adds, where they are few: an annotation is small."""
    text = told.files.text_of(told.finding.path)
    data = text.encode("utf-8", "surrogatepass")
    for edit in sorted(told.edits, key=lambda each: each.span, reverse=True):
        data = data[: edit.span.start] + edit.content.encode("utf-8", "surrogatepass") + data[edit.span.end :]
    after = data.decode("utf-8", "surrogatepass")
    found = difflib.unified_diff(text.splitlines(), after.splitlines(), n=0, lineterm="")
    made = [line for number, line in enumerate(found) if number > 1 and not line.startswith("@@")]
    if len(made) <= FEW:
        yield from made


def _place(region: Region) -> dict[str, object]:
    rows: dict[str, object] = {"line": region.start.row, "endLine": region.end.row}
    # columns of an annotation over several lines are refused
    if region.cell is not None or region.start.row != region.end.row:
        return rows
    return {"line": region.start.row, "col": region.start.column, "endLine": region.end.row, "endColumn": region.end.column}


def _command(level: str, properties: dict[str, object], message: str) -> Line:
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    said = "\n".join(map(legible, message.split("\n")))
    return (Piece(f"::{level} {shown}::{_data(said)}"),)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(legible(text)).replace(":", "%3A").replace(",", "%2C")

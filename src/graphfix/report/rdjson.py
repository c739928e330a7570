"""Findings in the Reviewdog Diagnostic Format; its columns count UTF-8 bytes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from graphfix.model import Severity
from graphfix.report.places import Region
from graphfix.report.report import problem, unfinished
from graphfix.report.suggestion import merged
from graphfix.report.text import Line, Piece
from graphfix.report.view import Told, View, legible, plain
from graphfix.run.outcome import Outcome, Status


def lines(view: View) -> Iterator[Line]:
    document = {
        "source": {"name": "graphfix", "url": "https://github.com/graphfix/graphfix"},
        "severity": "ERROR",
        "diagnostics": [
            *view.each(view.failed(), lambda outcome: [_failure(view, outcome)]),
            *view.each(view.told(), lambda told: [_diagnostic(view, told)]),
            *view.each(view.unfinished(), lambda outcome: [_unfinished(view, outcome)]),
        ],
    }
    yield (Piece(json.dumps(document, indent=2)),)


def _diagnostic(view: View, told: Told) -> dict[str, object]:
    finding = told.finding
    region = told.files.region(finding.path, finding.span)
    cell = f"cell {region.cell + 1}: " if region is not None and region.cell is not None else ""
    made: dict[str, object] = {
        "message": cell + legible(finding.message),
        "location": {"path": plain(view.name(finding.path)), **({"range": _range(region)} if region is not None else {})},
        "severity": "WARNING" if finding.severity is Severity.WARNING else "ERROR",
        "code": {"value": finding.code, "url": finding.url},
    }
    # each suggestion is taken on its own, so a fix of several edits has to be one
    edit = merged(told)
    if edit is not None:
        place = told.files.region(finding.path, edit.span)
        if place is not None and place.cell is None:
            made["suggestions"] = [{"range": _range(place), "text": plain(edit.content)}]
    return made


def _range(region: Region) -> dict[str, dict[str, int]]:
    if region.cell is not None:
        return {"start": {"line": region.start.row}, "end": {"line": region.end.row}}
    start, end = region.start, region.end
    return {"start": {"line": start.row, "column": start.utf8}, "end": {"line": end.row, "column": end.utf8}}


def _unfinished(view: View, outcome: Outcome) -> dict[str, object]:
    return {"message": legible(unfinished(outcome)), "location": {"path": plain(view.name(outcome.path))}, "severity": "INFO"}


def _failure(view: View, outcome: Outcome) -> dict[str, object]:
    location: dict[str, object] = {"path": plain(view.name(outcome.path))}
    if outcome.row and outcome.cell is None:
        location["range"] = {"start": {"line": outcome.row}}
    severity = "WARNING" if outcome.status is Status.SKIPPED else "ERROR"
    return {"message": legible(problem(outcome)), "location": location, "severity": severity}

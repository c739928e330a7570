"""Findings as SARIF 2.1.0, with the story as a code flow and the fixes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from graphfix import __version__
from graphfix.model import Span
from graphfix.report.places import Point, Region
from graphfix.report.report import extent, problem, unfinished
from graphfix.report.text import Line, Piece
from graphfix.report.view import Told, View, legible, plain
from graphfix.run.outcome import Outcome, Status

if TYPE_CHECKING:
    from graphfix.codemods.base import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
URL = "https://github.com/graphfix/graphfix"
_ROOT = "%SRCROOT%"
Record = dict[str, Any]


def lines(view: View) -> Iterator[Line]:
    yield (Piece(json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(view)]}, indent=2)),)


def _run(view: View) -> Record:
    rules = [_rule(rule) for rule in view.rules]
    places = {rule.code: number for number, rule in enumerate(view.rules)}
    failed = list(view.failed())
    root = quote(os.fsencode(view.root.as_posix().rstrip("/") + "/"))
    return {
        "tool": {"driver": {"name": "graphfix", "version": __version__, "informationUri": URL, "rules": rules}},
        "columnKind": "utf16CodeUnits",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "originalUriBaseIds": {_ROOT: {"uri": f"file://{'' if root.startswith('/') else '/'}{root}"}},
        "invocations": [
            {
                "executionSuccessful": all(outcome.status is Status.SKIPPED for outcome in failed),
                "toolExecutionNotifications": [
                    *view.each(failed, lambda outcome: [_notification(view, outcome)]),
                    *view.each(view.unfinished(), lambda outcome: [_unfinished(view, outcome)]),
                ],
                "properties": {"summary": extent(view.outcomes)},
            }
        ],
        "results": list(view.each(view.told(), lambda told: [_result(view, told, places)])),
    }


def _rule(rule: Rule) -> Record:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.page, "markdown": rule.page},
        "helpUri": rule.url,
        "properties": {"tags": ["pytorch", "autograd"]},
    }


def _result(view: View, told: Told, places: dict[str, int]) -> Record:
    finding = told.finding
    made: Record = {
        "ruleId": finding.code,
        "level": finding.severity.value,
        "message": {"text": legible(finding.message)},
        "locations": [_location(view, told, finding.path, finding.span)],
        "partialFingerprints": {"graphfix/v1": told.fingerprint},
    }
    if finding.code in places:
        made["ruleIndex"] = places[finding.code]
    if finding.story:
        steps = [
            {"location": {**_location(view, told, step.path, step.span), "message": {"text": legible(step.message)}}}
            for step in finding.story
        ]
        made["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    replacements = _replacements(told)
    if finding.fix is not None and replacements:
        change = {"artifactLocation": _artifact(view, finding.path), "replacements": replacements}
        properties = {"applicability": finding.fix.applicability.value}
        made["fixes"] = [
            {"description": {"text": legible(finding.fix.title)}, "artifactChanges": [change], "properties": properties}
        ]
    return made


def _location(view: View, told: Told, path: str, span: Span) -> Record:
    region = told.files.region(path, span)
    physical: Record = {"artifactLocation": _artifact(view, path)}
    if region is not None:
        physical["region"] = _region(region)
    made: Record = {"physicalLocation": physical}
    if region is not None and region.cell is not None:
        made["logicalLocations"] = [{"name": f"cell {region.cell + 1}", "kind": "cell"}]
    return made


def _region(region: Region) -> Record:
    if region.cell is not None:
        return {"startLine": region.start.row, "endLine": region.end.row}
    return {**_point("start", region.start), **_point("end", region.end)}


def _point(which: str, point: Point) -> Record:
    return {f"{which}Line": point.row, f"{which}Column": point.utf16}


def _replacements(told: Told) -> list[Record]:
    made = []
    for edit in told.edits:
        region = told.files.region(told.finding.path, edit.span)
        if region is None or region.cell is not None:
            return []  # the JSON text of a notebook is no place for lines of Python
        made.append({"deletedRegion": _region(region), "insertedContent": {"text": plain(edit.content)}})
    return made


def _artifact(view: View, path: str | Path) -> Record:
    name = view.name(path)
    uri = quote(os.fsencode(name))
    if name.startswith("/"):
        return {"uri": f"file://{uri}"}
    if name[1:3] == ":/":
        return {"uri": f"file:///{uri}"}
    return {"uri": uri, "uriBaseId": _ROOT}


def _unfinished(view: View, outcome: Outcome) -> Record:
    """A file that was not analysed to the end, so that findings may be missing."""
    return {
        "level": "note",
        "message": {"text": legible(unfinished(outcome))},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(view, outcome.path)}}],
    }


def _notification(view: View, outcome: Outcome) -> Record:
    physical: Record = {"artifactLocation": _artifact(view, outcome.path)}
    if outcome.row and outcome.cell is None:
        physical["region"] = {"startLine": outcome.row}
    return {
        "level": "warning" if outcome.status is Status.SKIPPED else "error",
        "message": {"text": legible(problem(outcome))},
        "locations": [{"physicalLocation": physical}],
    }

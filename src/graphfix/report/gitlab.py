"""Findings as a GitLab code quality report."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from graphfix.model import Severity
from graphfix.report.report import problem, unfinished
from graphfix.report.text import Line, Piece
from graphfix.report.view import Told, View, legible, plain, rooted
from graphfix.run.outcome import Outcome

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def lines(view: View) -> Iterator[Line]:
    view = rooted(view, "CI_PROJECT_DIR")
    failures = view.each(view.failed(), lambda outcome: [_failure(view, outcome)])
    cut = view.each(view.unfinished(), lambda outcome: [_note(view, outcome)])
    records = [*failures, *view.each(view.told(), lambda told: [_record(view, told)]), *cut]
    yield (Piece(json.dumps(records, indent=2)),)


def _record(view: View, told: Told) -> dict[str, object]:
    finding = told.finding
    region = told.files.region(finding.path, finding.span)
    rows = {"begin": region.start.row, "end": region.end.row} if region is not None else {"begin": 1}
    return {
        "description": f"{finding.code}: {legible(finding.message)}",
        "check_name": finding.name,
        "fingerprint": told.fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": plain(view.name(finding.path)), "lines": rows},
    }


def _failure(view: View, outcome: Outcome) -> dict[str, object]:
    return _of_file(view, outcome, outcome.status.value, problem(outcome), "minor")


def _note(view: View, outcome: Outcome) -> dict[str, object]:
    return _of_file(view, outcome, "not analysed to the end", unfinished(outcome), "info")


def _of_file(view: View, outcome: Outcome, kind: str, description: str, severity: str) -> dict[str, object]:
    name = plain(view.name(outcome.path))
    return {
        "description": legible(description),
        "check_name": kind.replace(" ", "-"),
        "fingerprint": hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()[:32],
        "severity": severity,
        "location": {"path": name, "lines": {"begin": outcome.row if outcome.row and outcome.cell is None else 1}},
    }

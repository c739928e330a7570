"""Findings as a JSON array in ruff's shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from graphfix.model import Edit, Finding, Span
from graphfix.report.remedy import UNKNOWN
from graphfix.report.report import unfinished
from graphfix.report.text import Indexes, Line, Piece, indexes_of
from graphfix.report.view import plain
from graphfix.run.outcome import Outcome
from graphfix.source.homes import changed_by, changes_others
from graphfix.source.lines import LineIndex

if TYPE_CHECKING:
    from graphfix.report.view import View


def lines(view: View) -> Iterator[Line]:
    # ASCII only, so it is the same in every locale
    yield (Piece(json.dumps(list(view.each(view.outcomes, lambda outcome: records([outcome], view.name))), indent=2)),)

Edits = tuple[Edit, ...]
Named = Callable[[str], str]


def records(outcomes: Iterable[Outcome], named: Named = str) -> Iterator[dict[str, object]]:
    """One record for each file that was not analysed to the end, and one for each finding. `named`: what the form calls a file."""

    def name(path: str) -> str:
        return plain(named(path))

    for outcome in outcomes:
        if outcome.unfinished:
            yield _unfinished(outcome, name)
        if outcome.source is None:
            continue
        indexes = indexes_of(outcome.source)
        edits, others = outcome.edits_of_fixes, outcome.edits_of_others
        for finding, own, other in zip(outcome.findings, edits, others, strict=True):
            yield _record(finding, own, other, indexes, name)


def _record(finding: Finding, edits: Edits, others: Edits, indexes: Indexes, name: Named) -> dict[str, object]:
    index = indexes(finding.path) or LineIndex("")
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "filename": name(finding.path),
        **_locations(index, finding.span),
        "cell": index.cell(finding.span.start),
        "story": [_step(name, label.path, label.span, label.message, indexes) for label in finding.story],
        "fix": _fix(finding, edits, index, name),
        **({"another_fix": _fix(finding.otherwise, others, index, name)} if finding.another is not None else {}),
        "unfixed": None if finding.fix is not None else {"reason": finding.unfixed or UNKNOWN, "help": finding.by_hand},
        "url": finding.url,
    }


def _unfinished(outcome: Outcome, name: Named) -> dict[str, object]:
    """A file that was not analysed to the end, in the shape of a finding at its beginning."""
    start = {"row": 1, "column": 1}
    return {
        "code": "unfinished",
        "name": "not-analysed-to-the-end",
        "severity": "note",
        "message": unfinished(outcome),
        "filename": name(str(outcome.path)),
        "location": start,
        "end_location": start,
        "cell": None,
        "story": [],
        "fix": None,
        "unfixed": None,
        "url": None,
    }


def _step(name: Named, path: str, span: Span, message: str, indexes: Indexes) -> dict[str, object]:
    index = indexes(path)
    row, column = index.place(span.start) if index is not None else (1, 1)
    cell = index.cell(span.start) if index is not None else None
    return {"filename": name(path), **_in_cell(cell), "row": row, "column": column, "message": message}


def _fix(finding: Finding, edits: Edits, index: LineIndex, name: Named) -> dict[str, object] | None:
    if finding.fix is None:
        return None
    return {
        "applicability": finding.fix.applicability.value,
        "message": finding.fix.title,
        "reason": finding.fix.doubt or None,
        **({"rows": list(finding.fix.missing_rows)} if finding.fix.missing_rows else {}),
        **({"files": [name(path) for path in changed_by(finding)]} if changes_others(finding.fix) else {}),
        "edits": [
            {"content": edit.content, **_in_cell(index.cell(edit.span.start)), **_locations(index, edit.span)} for edit in edits
        ],
    }


def _in_cell(cell: int | None) -> dict[str, object]:
    # a story or a fix may go through several cells of a notebook
    return {} if cell is None else {"cell": cell}


def _locations(index: LineIndex, span: Span) -> dict[str, object]:
    return {"location": _place(index, span.start), "end_location": _place(index, span.end)}


def _place(index: LineIndex, offset: int) -> dict[str, int]:
    row, column = index.place(offset)
    return {"row": row, "column": column}

"""One line for each finding."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.report.text import Line, concise
from graphfix.report.view import View
from graphfix.run.outcome import Outcome


def lines(view: View) -> Iterator[Line]:
    return view.each(view.outcomes, _of)


def _of(outcome: Outcome) -> Iterator[Line]:
    if outcome.source is not None:
        index = outcome.source.index()
        yield from (concise(finding, index) for finding in outcome.findings)

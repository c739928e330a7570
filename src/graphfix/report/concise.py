"""One line for each finding."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.report.text import Line, concise
from graphfix.report.view import View


def lines(view: View) -> Iterator[Line]:
    for outcome in view.outcomes:
        if outcome.source is None:
            continue
        index = outcome.source.index()
        yield from (concise(finding, index) for finding in outcome.findings)

"""Findings as JSON Lines: the records of the JSON form, one a line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from graphfix.report.jsonform import records
from graphfix.report.text import Line, Piece
from graphfix.report.view import View


def lines(view: View) -> Iterator[Line]:
    return view.each(view.outcomes, lambda outcome: [(Piece(json.dumps(record)),) for record in records([outcome], view.name)])

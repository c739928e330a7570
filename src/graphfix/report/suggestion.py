"""A fix as one edit, for those who would take its edits one by one."""

from __future__ import annotations

from graphfix.model import Edit, Span
from graphfix.report.view import Told

MAX_BYTES = 4_000


def merged(told: Told) -> Edit | None:
    """One edit that does what all edits of the fix do; None without any, or where they are far apart."""
    edits = sorted(told.edits, key=lambda edit: edit.span)
    if not edits:
        return None
    start, end = edits[0].span.start, max(edit.span.end for edit in edits)
    if len(edits) == 1:
        return edits[0]
    if end - start > MAX_BYTES:
        return None
    data = told.files.text_of(told.finding.path).encode("utf-8", "surrogatepass")
    pieces, position = [], start
    for edit in edits:
        pieces += [data[position : edit.span.start], edit.content.encode("utf-8", "surrogatepass")]
        position = edit.span.end
    pieces.append(data[position:end])
    return Edit(Span(start, end), b"".join(pieces).decode("utf-8", "surrogatepass"))

"""A finding as a story: the source lines it runs through, each with what happens there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.model import Applicability, Finding, Label, Severity, Span
from graphfix.report.escape import escaped, shown, width
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex, shown_cell
from graphfix.source.text import Source

if TYPE_CHECKING:
    from graphfix.report.view import View

MAX_WIDTH = 160


@dataclass(frozen=True)
class Piece:
    """Some text and the style a terminal gives it."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]
Indexes = Callable[[str], LineIndex | None]


def lines(view: View) -> Iterator[Line]:
    """The stories of all findings."""
    for outcome in view.outcomes:
        if outcome.source is None:
            continue
        indexes = indexes_of(outcome.source)
        for finding in outcome.findings:
            yield from story(finding, indexes)
            yield ()


def indexes_of(source: Source) -> Indexes:
    """Finds the lines of the file that a label names: the source at hand, or another file of the project."""
    own = str(source.path)
    known: dict[str, LineIndex | None] = {own: source.index()}

    def find(path: str) -> LineIndex | None:
        if path not in known:
            try:
                known[path] = read(Path(path)).index()
            except SourceError:
                known[path] = None
        return known[path]

    return find


def concise(finding: Finding, index: LineIndex) -> Line:
    """`path:row:col: GF101 [*] message`."""
    star = "[*] " if finding.fix is not None and finding.fix.applicability is Applicability.SAFE else ""
    return (
        Piece(escaped(finding.path), "bold"),
        Piece(f":{index.where(finding.span.start)}: "),
        Piece(finding.code, "bold red"),
        Piece(f" {star}{escaped(finding.message)}"),
    )


def story(finding: Finding, indexes: Indexes) -> Iterator[Line]:
    """The lines of one finding, as a compiler would tell it."""
    index = indexes(finding.path)
    if index is None:
        return
    labels = finding.story or (Label(finding.path, finding.span, ""),)
    style = "bold red" if finding.severity is Severity.ERROR else "bold yellow"
    yield (
        Piece(f"{finding.severity.value}[{finding.code}]", style),
        Piece(f" {finding.name}: {escaped(finding.message)}", "bold"),
    )
    yield (Piece(f"  {escaped(finding.path)}:{index.where(finding.span.start)}"),)
    gutter = max(len(str(_row(label, indexes))) for label in labels)
    yield (Piece(" " * gutter + " |", "blue"),)
    yield from _excerpts(finding, labels, indexes, gutter)
    if finding.fix is not None:
        kind = finding.fix.applicability.value
        kind = "shown only" if kind == "display" else kind
        yield (Piece(" " * gutter + " = ", "blue"), Piece(f"fix ({kind}): {escaped(finding.fix.title)}"))


def _row(label: Label, indexes: Indexes) -> int:
    index = indexes(label.path)
    return index.place(label.span.start)[0] if index is not None else 0


def _excerpts(finding: Finding, labels: tuple[Label, ...], indexes: Indexes, gutter: int) -> Iterator[Line]:
    primary = _primary(finding, labels)
    own = indexes(finding.path)
    file, above = (finding.path, own.cell(finding.span.start) if own is not None else None), 0
    for number, label in enumerate(labels):
        index = indexes(label.path)
        if index is None:
            yield (Piece(f"  {escaped(label.path)}: {escaped(label.message)}"),)
            continue
        row, _ = index.place(label.span.start)
        cell = index.cell(label.span.start)
        if (label.path, cell) != file:
            yield (Piece(f"  {escaped(label.path)}:{shown_cell(cell)}{row}"),)
            file, above = (label.path, cell), 0
        mark = "^" if number == primary else "-"
        source, below = _marked(index, label.span, row, mark, label.message)
        if row != above:
            yield (Piece(f"{row:>{gutter}} |", "blue"), Piece((" " + source).rstrip()))
        style = "bold red" if mark == "^" else "blue"
        yield (Piece(" " * gutter + " |", "blue"), Piece(" " + below, style))
        above = row


def _primary(finding: Finding, labels: tuple[Label, ...]) -> int:
    """Which label gets the carets: the first at the statement to blame, else the first of all."""
    for number, label in enumerate(labels):
        same_file = label.path == finding.path
        if same_file and label.span.start < finding.span.end and finding.span.start < label.span.end:
            return number
    return 0


def _marked(index: LineIndex, span: Span, row: int, mark: str, message: str) -> tuple[str, str]:
    line = index.line_at(span.start)
    start = index.place(span.start)[1] - 1
    end_row, end_column = index.place(span.end)
    end = end_column - 1 if end_row == row else len(line.rstrip())
    line, start, end = _window(line, start, max(end, start + 1))
    marks = mark * max(width(line[start:end]), 1)
    return shown(line), (" " * width(line[:start]) + marks + " " + escaped(message)).rstrip()


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a very long line around the marked text."""
    if len(line) <= MAX_WIDTH:
        return line, start, min(end, max(len(line), start + 1))
    first = max(0, min(start - 40, len(line) - MAX_WIDTH))
    part = line[first : first + MAX_WIDTH]
    before, after = "..." if first else "", "..." if first + MAX_WIDTH < len(line) else ""
    shift = len(before) - first
    return before + part + after, start + shift, min(end + shift, len(before) + len(part))

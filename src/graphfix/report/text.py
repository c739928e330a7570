"""A finding as a story: the source lines it runs through, each with what happens there."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Applicability, Edit, Finding, Label, Severity, Span
from graphfix.report.effects import effect
from graphfix.report.escape import escaped, shown, width
from graphfix.report.remedy import remedy
from graphfix.run.outcome import Outcome
from graphfix.source.decode import read
from graphfix.source.errors import SourceError
from graphfix.source.lines import LineIndex, shown_cell
from graphfix.source.text import Source

if TYPE_CHECKING:
    from graphfix.report.view import View

MAX_WIDTH = 160
MOST_LINES = 4  # of a fix
NARROW = 40  # no terminal is narrower
UNBROKEN = MAX_WIDTH + NARROW  # of what is no terminal
USUAL = 80
LONG_CODE = 50  # characters of code in a headline


@dataclass(frozen=True)
class Piece:
    """Some text and the style a terminal gives it. `whole`: code or a command, which is not broken where a line is too long."""

    text: str
    style: str = ""
    whole: bool = False


_CODE = re.compile("`([^`]*)`")
Line = tuple[Piece, ...]
Indexes = Callable[[str], LineIndex | None]


def lines(view: View) -> Iterator[Line]:
    """The stories of all findings."""
    return view.each(view.outcomes, partial(_stories, cells=view.columns or UNBROKEN))


def _stories(outcome: Outcome, cells: int) -> Iterator[Line]:
    """The stories of the findings in one file."""
    if outcome.source is None:
        return
    indexes = indexes_of(outcome.source)
    for finding, own in zip(outcome.findings, outcome.edits_of_fixes, strict=True):
        yield from story(finding, indexes, own, explained=True, cells=cells)
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
        Piece(escaped(finding.path), "bold", whole=True),
        Piece(f":{index.where(finding.span.start)}: ", whole=True),
        Piece(finding.code, "bold red", whole=True),
        Piece(f" {star}{escaped(finding.message)}", whole=True),
    )


def story(
    finding: Finding, indexes: Indexes, edits: Sequence[Edit] = (), *, explained: bool = False, cells: int = UNBROKEN
) -> Iterator[Line]:
    """The lines of one finding, as a compiler would tell it. `edits`: those of its fix, which are shown where they make a few whole lines.

    `explained`: with how it shows itself, and where its rule is told of. `cells`: how wide a line may be.
    """
    index = indexes(finding.path)
    if index is None:
        return
    labels = finding.story or (Label(finding.path, finding.span, ""),)
    style = "bold red" if finding.severity is Severity.ERROR else "bold yellow"
    link = f" link {finding.url}" if explained else ""
    yield (
        Piece(f"{finding.severity.value}[{finding.code}]", style + link),
        Piece(f" {finding.name}: {with_short_code(escaped(finding.message))}", "bold"),
    )
    place = f"{escaped(finding.path)}:{index.where(finding.span.start)}"
    file = f"link file://{quote(os.fsencode(os.path.abspath(finding.path)))}"
    yield (Piece("  --> ", "blue", whole=True), Piece(place, file, whole=True))
    gutter = max(len(str(_row(label, indexes))) for label in labels)
    yield (Piece(" " * gutter + " |", "blue"),)
    yield from _excerpts(finding, labels, indexes, gutter, cells - gutter - 3)
    yield from _ending(finding, index, edits, gutter, explained=explained)


def with_short_code(text: str) -> str:
    """`text` with the middle left out of long code in backticks: a reader would not find the end of the sentence behind it."""

    def shortened(code: re.Match[str]) -> str:
        inner = code[1]
        return code[0] if len(inner) <= LONG_CODE else f"`{inner[: LONG_CODE // 2]}...{inner[-LONG_CODE // 2 :]}`"

    return _CODE.sub(shortened, text)


def _ending(finding: Finding, index: LineIndex, edits: Sequence[Edit], gutter: int, *, explained: bool) -> Iterator[Line]:
    """How the fault shows itself, and what repairs it."""
    head = Piece(" " * gutter + " = ", "blue")
    shows = effect(finding) if explained else ""
    if shows:
        yield (head, Piece(f"symptom: {shows}"))
    yield from ((head, Piece(with_short_code(escaped(sentence)))) for sentence in remedy(finding))
    for row, text in _made_lines(index, edits):
        yield (Piece(f"{row:>{gutter}} +", "green", whole=True), Piece(" " + shown(text), "green", whole=True))


def _made_lines(index: LineIndex, edits: Sequence[Edit]) -> list[tuple[int, str]]:
    """The rows and the new text of the lines that a fix changes or adds; nothing where they are many, or more than whole lines change."""
    if len({index.cell(place) for edit in edits for place in (edit.span.start, edit.span.end)}) > 1:
        return []
    added: list[tuple[int, str]] = []
    changed: dict[int, list[Edit]] = {}
    for edit in edits:
        (row, column), end = index.place(edit.span.start), index.place(edit.span.end)
        content, is_empty = edit.content, edit.span.start == edit.span.end
        if content.endswith("\n") and is_empty and column == 1:
            added += [(row, line) for line in content.splitlines()]
        elif "\n" in content or row != end[0]:
            return []
        else:
            changed.setdefault(row, []).append(edit)
    made = [(row, _changed(index, parts)) for row, parts in changed.items()]
    lines = sorted([*added, *made], key=lambda line: line[0])  # what is added in front of a changed line stands in front of it
    is_told = len(lines) <= MOST_LINES and all(text and len(text) <= MAX_WIDTH for _, text in lines)
    return lines if is_told else []


def _changed(index: LineIndex, edits: Sequence[Edit]) -> str:
    """The new text of a line with these edits."""
    line = index.line_at(edits[0].span.start)
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        start, end = (index.place(place)[1] - 1 for place in (edit.span.start, edit.span.end))
        line = line[:start] + edit.content + line[end:]
    return line.rstrip()


def _row(label: Label, indexes: Indexes) -> int:
    index = indexes(label.path)
    return index.place(label.span.start)[0] if index is not None else 0


def _excerpts(finding: Finding, labels: tuple[Label, ...], indexes: Indexes, gutter: int, room: int) -> Iterator[Line]:
    """The marked lines; steps are numbered in the order of time. `room`: the cells behind the gutter."""
    primary = labels[_primary(finding, labels)]
    own = indexes(finding.path)
    file, above, marked = (finding.path, own.cell(finding.span.start) if own is not None else None), 0, None
    # what is marked may stand far below the line that the finding is told for
    place, head = file, own.place(finding.span.start)[0] if own is not None else 0
    for label in _from_top_to_bottom(labels):
        index = indexes(label.path)
        if index is None:
            yield (Piece(f"  {escaped(label.path)}: {escaped(label.message)}"),)
            continue
        row, _ = index.place(label.span.start)
        cell = index.cell(label.span.start)
        if (label.path, cell) != file:
            yield (Piece(f"  {escaped(label.path)}:{shown_cell(cell)}{row}"),)
            file, above = (label.path, cell), 0
        blamed = (label.path, label.span) == (primary.path, primary.span)
        mark = "^" if blamed else "-"
        if above == row and label.span == marked:
            mark = " "
        message = f"({label.step}) {label.message}" if label.step else label.message
        source, *below = _marked(index, label.span, row, mark, message, room)
        if file == place and above < head < row:
            yield from _source_line(head, above, _beginning(index.line_at(finding.span.start), room), gutter)
            above = head
        if row != above:
            yield from _source_line(row, above, source, gutter)
        style = "bold red" if blamed else "blue"
        for line in below:
            if line.strip():
                yield (Piece(" " * gutter + " |", "blue", whole=True), Piece(" " + line, style, whole=True))
        above, marked = row, label.span


def _source_line(row: int, above: int, source: str, gutter: int) -> Iterator[Line]:
    """A line of the file, and dots where it does not follow the one `above`."""
    if above and row not in (above, above + 1):
        yield (Piece("...", "blue"),)
    yield (Piece(f"{row:>{gutter}} |", "blue", whole=True), Piece((" " + source).rstrip(), whole=True))


def _from_top_to_bottom(labels: tuple[Label, ...]) -> Iterator[Label]:
    """The steps as they stand in their files, then the remarks as they were made."""
    steps = [label for label in labels if label.step]
    paths = list(dict.fromkeys(label.path for label in steps))
    yield from sorted(steps, key=lambda step: (paths.index(step.path), step.span.start))
    yield from (label for label in labels if not label.step)


def _primary(finding: Finding, labels: tuple[Label, ...]) -> int:
    """Which label gets the carets: the first at the statement to blame, else the first of all."""
    for number, label in enumerate(labels):
        same_file = label.path == finding.path
        if same_file and label.span.start < finding.span.end and finding.span.start < label.span.end:
            return number
    return 0


def columns(stream: TextIO | None = None) -> int:
    """How wide a line may be: as COLUMNS or the terminal behind `stream` (standard output) says, and wide where there is no terminal."""
    stream = sys.stdout if stream is None else stream
    if not stream.isatty():
        return UNBROKEN
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return max(NARROW, int(given))
    try:
        # a terminal that nobody has given a size has none
        return max(NARROW, os.get_terminal_size(stream.fileno()).columns or USUAL)
    except (OSError, ValueError):
        return UNBROKEN


def _marked(index: LineIndex, span: Span, row: int, mark: str, message: str, room: int) -> list[str]:
    """The source line, and what stands below it: the marks with the message, on lines of its own where there is no room."""
    line = index.line_at(span.start)
    start = index.place(span.start)[1] - 1
    end_row, end_column = index.place(span.end)
    end = end_column - 1 if end_row == row else len(line.rstrip())
    line, start, end = _window(line, start, max(end, start + 1), min(MAX_WIDTH, room))
    before = " " * width(line[:start])
    marks = before + mark * max(width(line[start:end]), 1)
    words = escaped(message)
    if len(marks) + 1 + len(words) <= room:
        return [shown(line), f"{marks} {words}".rstrip()]
    indent = before[: max(0, room - NARROW)]
    return [shown(line), marks, *(indent + part for part in textwrap.wrap(words, room - len(indent)))]


def _beginning(line: str, room: int) -> str:
    return shown(_window(line, 0, 1, min(MAX_WIDTH, room))[0])


def _window(line: str, start: int, end: int, most: int) -> tuple[str, int, int]:
    """The part of a very long line around the marked text."""
    if len(line) <= most:
        return line, start, min(end, max(len(line), start + 1))
    most -= 2 * len("...")
    first = max(0, min(start - most // 4, len(line) - most))
    part = line[first : first + most]
    before, after = "..." if first else "", "..." if first + most < len(line) else ""
    shift = len(before) - first
    return before + part + after, start + shift, min(end + shift, len(before) + len(part))

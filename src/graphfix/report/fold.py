"""Lines that are longer than the terminal is wide, broken between words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphfix.report.escape import width
from graphfix.report.text import Line

INDENT = 2  # cells by which a continuation stands further in: below the text of a line that begins with `= `
LEAST = 20  # cells of a continuation that has something to say


def folded(line: Line, columns: int, indent: int | None = None) -> Iterator[Line]:
    """`line` as lines of at most `columns` cells, but for words and pieces that are longer than that: they are not broken.

    `indent`: the cells before each continuation.
    """
    text = "".join(piece.text for piece in line)
    if width(text) <= columns:
        yield line
        return
    indent = len(text) - len(text.lstrip()) + INDENT if indent is None else indent
    indent = max(0, min(indent, columns - LEAST))
    start, room = 0, columns
    gaps = [gap for gap in _gaps(line, text) if text[gap:].strip()]
    while width(text[start:]) > room and gaps:
        end = max((gap for gap in gaps if width(text[start:gap]) <= room), default=gaps[0])
        yield _indented(_between(line, start, end), indent if start else 0)
        start = end + len(text[end:]) - len(text[end:].lstrip())
        room = columns - indent
        gaps = [gap for gap in gaps if gap > start]
    yield _indented(_between(line, start, len(text)), indent if start else 0)


def _gaps(line: Line, text: str) -> Iterator[int]:
    """Where a line may end: in front of a space behind a word, but inside of no piece that is whole, and between no two of them."""
    first = len(text) - len(text.lstrip())
    place, before = 0, False
    for piece in line:
        for offset, letter in enumerate(piece.text):
            gap = place + offset
            held = piece.whole and (offset > 0 or before)
            if letter == " " and gap > first and text[gap - 1] != " " and not held:
                yield gap
        place, before = place + len(piece.text), piece.whole


def _between(line: Line, start: int, end: int) -> Line:
    place, cut = 0, []
    for piece in line:
        part = piece.text[max(start - place, 0) : max(end - place, 0)]
        place += len(piece.text)
        if part:
            cut.append(replace(piece, text=part))
    return tuple(cut)


def _indented(line: Line, indent: int) -> Line:
    return (replace(line[0], text=" " * indent + line[0].text), *line[1:]) if indent else line

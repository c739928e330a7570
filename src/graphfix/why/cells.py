"""Which cell of a notebook a frame means, of which only the number of its prompt is known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.source.notebook import Notebook
from graphfix.source.text import Source
from graphfix.why.errors import Frame


@dataclass(frozen=True)
class Prompt:
    """A cell that may be the one. `likeness`: 3 by number and line, 2 by its line alone, 1 by its number alone."""

    cell: int
    row: int
    likeness: int
    note: str = ""


def cell_of(source: Source, frame: Frame) -> Iterator[Prompt]:
    """The cells of a notebook that the frame may mean."""
    if not isinstance(source, Notebook):
        return
    numbers = _prompts(source.json)
    for code in source.codes:
        lines = code.source.splitlines()
        is_numbered = numbers.get(code.number) == frame.cell
        rows = [row for row, line in enumerate(lines, 1) if frame.code and " ".join(line.split()) == " ".join(frame.code.split())]
        if rows:
            row = min(rows, key=lambda at: abs(at - frame.row))
            yield Prompt(code.number, row, 3 if is_numbered else 2)
        elif is_numbered and 1 <= frame.row <= len(lines):
            note = "the cell has changed since: its line has another text now" if frame.code else ""
            yield Prompt(code.number, frame.row, 1, note)


def _prompts(text: str) -> dict[int, object]:
    """The number in the prompt of each cell."""
    return {number: cell.get("execution_count") for number, cell in enumerate(_cells(text))}


def _cells(text: str) -> list[dict[str, Any]]:
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def outputs(text: str) -> str:
    """The tracebacks that a notebook has kept below its cells, the last one last; empty without any."""
    shown: list[str] = []
    for cell in _cells(text):
        for output in cell.get("outputs") or ():
            if isinstance(output, dict) and output.get("output_type") == "error":
                shown += [str(line) for line in output.get("traceback") or ()]
    return "\n".join(shown)

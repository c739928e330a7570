"""A Jupyter notebook as one Python module, and edits of that module as edits of its cells.

The code cells are the program, in their order: what one defines, later ones see. In the module's text each stands behind a
comment that names it, so the text alone tells which cell a place belongs to, also after edits. Cells that are no Python, in
another language or under a cell magic that runs none, are not part of it (`ipython` says what is done about IPython's
additions to the language).

Only the sources of changed cells are written, into the old JSON text; the rest keeps its bytes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Delete, Finding, Fix, InsertAfter, InsertBefore, Move, Operation, Replace, Span, Wrap
from graphfix.source.errors import Skipped, SourceError, Torn
from graphfix.source.ipython import HIDDEN, forgotten, hidden, originals, restored
from graphfix.source.jsontext import CellText, replaced, scan
from graphfix.source.lines import LineIndex
from graphfix.source.old_python import as_written, modernised
from graphfix.source.text import BOM, Source

_MARK = re.compile(rb"(?:\A|(?<=\n))#%%graphfix-cell-(\d+)\n\n")


@dataclass(frozen=True)
class Code:
    """A cell of the program: its number among all cells, its source, and the source without IPython's additions.

    `sealed`: why no fix reaches into it, where what it says is not what is read.
    """

    number: int
    source: str
    hidden: str
    sealed: str = ""

    @property
    def newline(self) -> str:
        return "\r\n" if "\r\n" in self.source else "\n"


@dataclass(frozen=True)
class Notebook(Source):
    """A notebook whose `text` is the module that its cells make up."""

    json: str = field(default="", repr=False)
    cells: tuple[CellText, ...] = field(default=(), repr=False)
    codes: tuple[Code, ...] = field(default=(), repr=False)

    def index(self) -> LineIndex:
        """The lines as the user wrote them, counted by cell."""
        return CellIndex(_module((code, code.source) for code in self.codes))

    def encode(self, text: str) -> bytes:
        """The bytes of the notebook if its module were `text`."""
        if text == self.text:
            return self.data
        parts = dict(_parts(text.encode()))
        if list(parts) != [code.number for code in self.codes]:
            raise Torn("a fix would span several cells")
        sources = {}
        for code in self.codes:
            part = parts[code.number].removesuffix(code.newline.encode())
            if part != code.hidden.encode():
                words = originals(code.hidden.encode(), code.source.encode())
                sources[code.number] = restored(part, words).decode()
        made = replaced(self.json, self.cells, sources)
        if made is None:
            raise Torn("the notebook would change outside its code cells")
        return (BOM if self.bom else b"") + made.encode()

    def edited(self, text: str) -> Source:
        """The notebook once its module is `text`, but for a newline where a cell has become empty."""
        made = decode_notebook(self.path, self.encode(text))
        cells, wanted = ([(n, part.rstrip(b"\r\n")) for n, part in _parts(data.encode())] for data in (made.text, text))
        if cells != wanted:
            raise Torn("the repaired notebook does not read back as the repaired program")
        return made

    def confined(self, text: str, findings: list[Finding]) -> list[Finding]:
        """The findings in `text`, without the fixes that would reach over a cell's edge or into IPython's commands."""
        data = text.encode()
        edges = [match.start() for match in _MARK.finditer(data)]
        index = CellIndex(text)
        sealed = {code.number: code.sealed for code in self.codes if code.sealed}
        return [
            finding.without_fix(why) if (why := _out_of_reach(finding.fix, data, edges, index, sealed)) else finding
            for finding in map(as_written, findings)
        ]


def decode_notebook(path: Path, data: bytes) -> Notebook:
    """The notebook in `data`, or `SourceError`."""
    bom = data.startswith(BOM)
    try:
        text = data[len(BOM) if bom else 0 :].decode()
    except UnicodeDecodeError as error:
        raise SourceError("not valid utf-8", data.count(b"\n", 0, error.start) + 1, 1) from error
    if not text.strip():
        return Notebook(path, "", bom=bom, data=data, json=text)
    document = scan(text)
    codes: list[Code] = []
    failed: list[SourceError] = []
    for number, cell in enumerate(document.cells):
        if cell.kind == "code" and (cell.language or document.language).startswith(("python", "ipython")):
            try:
                codes += _code(number, cell.source)
            except SourceError as error:
                failed.append(SourceError(error.reason, error.row, error.column, number))
                if error.row and not isinstance(error, Skipped) and "\0" not in cell.source:
                    codes.append(Code(number, cell.source, forgotten(cell.source), "it would change a cell that does not parse"))
    if failed and not any(code.hidden.strip() for code in codes if code.number not in {error.cell for error in failed}):
        raise failed[0]
    module = _module((code, code.hidden) for code in codes)
    left_out = tuple(f"cell {error.cell + 1} left out: {error.reason}" for error in failed if error.cell is not None)
    return Notebook(path, module, bom=bom, data=data, json=text, cells=document.cells, codes=tuple(codes), left_out=left_out)


def _code(number: int, source: str) -> Iterator[Code]:
    try:
        data = source.encode()
    except UnicodeEncodeError as error:
        raise SourceError("an incomplete character") from error
    if b"#%%graphfix-cell-" in data:
        raise SourceError("a comment that graphfix itself uses")
    try:
        made = hidden(source)
    except SourceError:
        old = modernised(source)
        if old == source:
            raise
        try:
            made = hidden(old)
        except SourceError:
            made = ""
        if not made:
            raise
        yield Code(number, source, made, "it would change a cell that today's Python cannot read")
        return
    if made or not source:
        yield Code(number, source, made)


def _module(cells: Iterator[tuple[Code, str]]) -> str:
    # the empty line keeps the mark from being taken for a comment of the statement below
    return "".join(f"#%%graphfix-cell-{code.number}\n\n{text}{code.newline}" for code, text in cells)


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    marks = list(_MARK.finditer(data))
    ends = [*(mark.start() for mark in marks[1:]), len(data)]
    for mark, end in zip(marks, ends, strict=True):
        yield int(mark[1]), data[mark.end() : end]


class CellIndex(LineIndex):
    """Rows and columns inside of the cells."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        marks = list(_MARK.finditer(text.encode()))
        self._marks = [mark.start() for mark in marks]
        self._numbers = [int(mark[1]) for mark in marks]

    def place(self, offset: int) -> tuple[int, int]:
        """The 1-based row and column inside of the cell that holds the byte `offset`."""
        row, column = super().place(offset)
        first, _ = super().place(self._marks[bisect_right(self._marks, offset) - 1])
        return row - first - 1, column

    def cell(self, offset: int) -> int | None:
        """The 0-based number of the cell that holds the byte `offset`."""
        return self._numbers[bisect_right(self._marks, offset) - 1]


def _out_of_reach(fix: Fix | None, data: bytes, edges: list[int], index: CellIndex, sealed: Mapping[int, str]) -> str:
    """Why a fix may not be written into the cells of the module `data`; empty if it may."""
    if fix is None:
        return ""
    if any(_crosses(edges, operation) for operation in fix.operations):
        return "it would span several cells"
    if any(_tears(data, operation) for operation in fix.operations):
        return "it would change an IPython command"
    cells = {index.cell(span.start) for operation in fix.operations for span in _spans(operation)}
    return next((why for number, why in sealed.items() if number in cells), "")


def _spans(operation: Operation) -> tuple[Span, ...]:
    if isinstance(operation, Wrap):
        return operation.spans
    return (operation.span, operation.before) if isinstance(operation, Move) else (operation.span,)


def _crosses(edges: list[int], operation: Operation) -> bool:
    """Whether one operation would change two cells."""
    return len({bisect_right(edges, place) for span in _spans(operation) for place in (span.start, span.end)}) > 1


def _tears(data: bytes, operation: Operation) -> bool:
    """Whether an operation would take a command of IPython along, or put statements between it and its code."""
    if isinstance(operation, (Delete, Move, Replace)) and HIDDEN.search(b"\n" + data[operation.span.start : operation.span.end]):
        return True
    if not isinstance(operation, (Delete, Move, InsertBefore, InsertAfter, Wrap)):
        return False
    return any(_is_timed(data, place) for span in _spans(operation) for place in (span.start, span.end))


def _is_timed(data: bytes, place: int) -> bool:
    start = max(data.rfind(b"\n", 0, place), data.rfind(b"\r", 0, place)) + 1
    match = HIDDEN.match(data, start)
    return match is not None and match.lastgroup == "front"

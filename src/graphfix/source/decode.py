"""Bytes to text and back: the only place that decodes, and the gate before any parser.

`Source.encode(source.text)` gives back the very bytes that were read; a file for
which that cannot be promised is refused here, with one reason.
"""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import tokenize
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphfix.model import Finding

BOM = b"\xef\xbb\xbf"
MAX_BYTES = 10_000_000
NEWLINE = re.compile(r"\r\n|\r|\n")
_FIRST_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class SourceError(Exception):
    """A file that cannot be read or parsed: one reason, and where it is known."""

    def __init__(self, reason: str, row: int = 0, column: int = 0, cell: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.row = row
        self.column = column
        self.cell = cell


class Skipped(SourceError):
    """A file that is readable but left out on purpose, such as one nested too deep."""


@dataclass(frozen=True)
class Source:
    """One decoded file. `text` has no byte order mark and keeps its newlines as they are.

    `left_out`: parts that are not in it, such as a notebook's cells that do not parse, each with the reason.
    """

    path: Path
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    data: bytes = field(default=b"", repr=False)
    left_out: tuple[str, ...] = ()

    @property
    def newline(self) -> str:
        """The newline that most lines end with (`\\n` for a file of one line)."""
        counts: dict[str, int] = {}
        for found in NEWLINE.findall(self.text):
            counts[found] = counts.get(found, 0) + 1
        return max(counts, key=lambda style: counts[style], default="\n")

    def encode(self, text: str) -> bytes:
        """The bytes of the file if it held `text`."""
        return (BOM if self.bom else b"") + text.encode(self.encoding)

    def edited(self, text: str) -> Source:
        """The file once it holds `text`, or what comes to the same."""
        return replace(self, text=text, data=self.encode(text))

    def index(self) -> LineIndex:
        """The lines as the user counts them."""
        return LineIndex(self.text)

    def confined(self, text: str, findings: list[Finding]) -> list[Finding]:
        """The findings in `text` without those fixes that this kind of file has no room for."""
        return findings


def read(path: Path) -> Source:
    """Read and decode the file at `path`, or raise `SourceError`."""
    return decode(path, read_bytes(path))


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; never blocks on a pipe or a device."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise SourceError(_why_unreadable(error)) from error
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        raise SourceError("a folder, not a file" if stat.S_ISDIR(state.st_mode) else "not a regular file")
    with os.fdopen(handle, "rb") as stream:
        if state.st_size > limit:
            raise Skipped("too large")
        try:
            return stream.read()
        except OSError as error:
            raise SourceError(_why_unreadable(error)) from error


def _why_unreadable(error: OSError) -> str:
    reasons = {
        errno.ENOENT: "the file is gone",
        errno.EACCES: "permission denied",
        errno.EPERM: "permission denied",
        errno.ELOOP: "a loop of symbolic links",
        errno.EISDIR: "a folder, not a file",
        errno.ENXIO: "not a regular file",
    }
    return reasons.get(error.errno or 0, (error.strerror or str(error)).lower())


def decode(path: Path, data: bytes) -> Source:
    """Decode as Python itself would (mark, then cookie, then UTF-8), or raise `SourceError`."""
    if len(data) > MAX_BYTES:
        raise Skipped("too large")
    null = data.find(b"\0")
    if null >= 0:
        raise SourceError("null byte, is it a binary file?", _row_of(data, null), 1)
    if path.suffix == ".ipynb":
        from graphfix.source.notebook import decode_notebook

        return decode_notebook(path, data)
    encoding = _encoding_of(data)
    bom = data.startswith(BOM)
    try:
        text = data[len(BOM) if bom else 0 :].decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(f"not valid {encoding}", _row_of(data, error.start), 1) from error
    except (LookupError, UnicodeError) as error:
        raise SourceError(f"unknown encoding {encoding!r} in the coding cookie", 1, 1) from error
    source = Source(path, text, encoding, bom, data)
    if not _round_trips(source):
        raise SourceError(f"the encoding {encoding} does not give back the same bytes", 1, 1)
    return source


def _round_trips(source: Source) -> bool:
    try:
        return source.encode(source.text) == source.data
    except UnicodeError:
        return False


def _encoding_of(data: bytes) -> str:
    # tokenize splits on \n only; Python's own tokenizer also ends a line at a lone \r
    lines = [match.group() for match in _FIRST_LINES.finditer(data[:4096])][:2]
    stream = io.BytesIO(b"".join(line.rstrip(b"\r\n") + b"\n" for line in lines))
    try:
        encoding, _ = tokenize.detect_encoding(stream.readline)
    except SyntaxError as error:
        raise SourceError(_cookie_reason(str(error)), 1, 1) from error
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _cookie_reason(message: str) -> str:
    if message.startswith("unknown encoding"):
        return f"unknown encoding{message[len('unknown encoding') :].replace(': ', ' ', 1)} in the coding cookie"
    if message.startswith("encoding problem"):
        return "the coding cookie contradicts the byte order mark"
    return "not valid utf-8"


def shown_cell(cell: int | None) -> str:
    """`cell 4:` for a place in a notebook."""
    return "" if cell is None else f"cell {cell + 1}:"


def _row_of(data: bytes, offset: int) -> int:
    head = data[:offset].replace(b"\r\n", b"\n")
    return head.count(b"\n") + head.count(b"\r") + 1


class LineIndex:
    """Converts UTF-8 byte offsets of one text to 1-based (row, column in code points) and back."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = text if text.isascii() else text.encode("utf-8", "surrogatepass")
        starts = [0]
        if isinstance(self._data, str):
            starts += [match.end() for match in NEWLINE.finditer(self._data)]
        else:
            starts += [match.end() for match in re.finditer(rb"\r\n|\r|\n", self._data)]
        self._starts = starts

    @property
    def rows(self) -> int:
        """How many lines there are; a final newline opens one more, which is empty."""
        return len(self._starts)

    def place(self, offset: int) -> tuple[int, int]:
        """The 1-based row and column of the byte `offset`."""
        row = bisect_right(self._starts, offset)
        start = self._starts[row - 1]
        return row, len(self._slice(start, offset)) + 1

    def cell(self, offset: int) -> int | None:
        """The 0-based number of the notebook's cell that holds the byte `offset`; None in any other file."""
        return None

    def where(self, offset: int) -> str:
        """The place of the byte `offset` as a user reads it, with cells counted from 1 as in ruff."""
        row, column = self.place(offset)
        return f"{shown_cell(self.cell(offset))}{row}:{column}"

    def line_at(self, offset: int) -> str:
        """The text of the line that holds the byte `offset`, without its newline."""
        return self.line(bisect_right(self._starts, offset))

    def offset(self, row: int, column: int) -> int:
        """The byte offset of the 1-based `row` and `column`."""
        start = self._starts[row - 1]
        return start + len(self.raw_line(row)[: column - 1].encode("utf-8", "surrogatepass"))

    def line(self, row: int) -> str:
        """The text of the line `row` without its newline."""
        return self.raw_line(row).rstrip("\r\n")

    def raw_line(self, row: int) -> str:
        """The text of the line `row` with its newline."""
        end = self._starts[row] if row < len(self._starts) else len(self._data)
        return self._slice(self._starts[row - 1], end)

    def _slice(self, start: int, end: int) -> str:
        part = self._data[start:end]
        return part if isinstance(part, str) else part.decode("utf-8", "replace")

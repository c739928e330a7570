"""Bytes to text and back: the only place that decodes, and the gate before any parser.

`Source.encode(source.text)` gives back the very bytes that were read; a file for
which that cannot be promised is refused here, with one reason.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

from graphfix.source.errors import Skipped, SourceError
from graphfix.source.guard import parse, parses
from graphfix.source.reading import MAX_BYTES, read_bytes
from graphfix.source.text import BOM, Source

__all__ = ["decode", "decode_text", "encoded", "of_its_age", "read", "read_bytes", "writes_ascii"]

_PLAIN = re.compile(rb"coding[:=][ \t]*(?:utf[-_]?8|latin|iso[-_]8859|ascii|us-ascii|cp125)", re.IGNORECASE)
_FIRST_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def read(path: Path) -> Source:
    """Read and decode the file at `path`, or raise `SourceError`."""
    return decode(path, read_bytes(path))


def decode(path: Path, data: bytes) -> Source:
    """The source in these bytes, as Python 2 where only that reads it; or raise `SourceError`."""
    if path.suffix == ".ipynb" and b"\0" not in data and len(data) <= MAX_BYTES:
        from graphfix.source.notebook import decode_notebook

        return decode_notebook(path, data)
    return of_its_age(decode_text(path, data))


def decode_text(path: Path, data: bytes) -> Source:
    """Decode as Python itself would (mark, then cookie, then UTF-8), whatever the text is; or raise `SourceError`."""
    if len(data) > MAX_BYTES:
        raise Skipped("too large")
    null = data.find(b"\0")
    if null >= 0:
        raise SourceError("null byte, is it a binary file?", _row_of(data, null), 1)
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
        raise SourceError(f"encoding {encoding} does not round-trip to the same bytes", 1, 1)
    return source


def encoded(text: str) -> tuple[bytes, str]:
    """The bytes of a file that holds `text`, in the encoding that the text itself names, and that encoding.

    A mark at the beginning of `text` is that of the file. Raises `SourceError` where the encoding has no room for the text.
    """
    encoding = _encoding_of(text.encode("utf-8", "surrogatepass"))
    try:
        return text.encode(encoding), encoding
    except (LookupError, UnicodeError) as error:
        raise SourceError(f"not valid {encoding}") from error


def of_its_age(source: Source) -> Source:
    """The file as it is, or as Python 2 where only that reads it."""
    try:
        parse(source.text)
    except Skipped:
        return source
    except SourceError as error:
        from graphfix.source.old_python import OldSource, modernised

        text = modernised(source.text)
        if text == source.text or len(text) != len(source.text) or not parses(text):
            return source
        note = f"line {error.row}: {error.reason}; read as Python 2"
        return OldSource(source.path, text, source.encoding, source.bom, source.data, (note,), written=source.text)
    return source


def writes_ascii(data: bytes) -> bool:
    """Whether ASCII stands in the bytes as itself, as far as their first lines tell: their cookie, if any, names such an encoding."""
    head = data[:400]
    return b"coding" not in head or _PLAIN.search(head) is not None


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
        if str(error).startswith("unknown encoding") and _is_utf8(data):
            return "utf-8"  # whatever the cookie was to say
        raise SourceError(_cookie_reason(str(error)), 1, 1) from error
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cookie_reason(message: str) -> str:
    if message.startswith("unknown encoding"):
        return f"unknown encoding{message[len('unknown encoding') :].replace(': ', ' ', 1)} in the coding cookie"
    if message.startswith("encoding problem"):
        return "the coding cookie contradicts the byte order mark"
    return "not valid utf-8"


def _row_of(data: bytes, offset: int) -> int:
    head = data[:offset].replace(b"\r\n", b"\n")
    return head.count(b"\n") + head.count(b"\r") + 1

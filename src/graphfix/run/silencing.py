"""Comments that silence findings, put where a comment may stand."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import field

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Edit, Finding, Span
from graphfix.source.lines import LineIndex

_LISTED = re.compile(r"(?i)#\s*graphfix:\s*ignore\[(?P<codes>[^\]]*)\]")
_OPENED = frozenset(number for number, name in tokenize.tok_name.items() if name in ("FSTRING_START", "TSTRING_START"))
_CLOSED = frozenset(number for number, name in tokenize.tok_name.items() if name in ("FSTRING_END", "TSTRING_END"))


@dataclass(frozen=True)
class Silenced:
    """The edits that add the comments, and the findings for which no line has room."""

    edits: tuple[Edit, ...]
    left: tuple[Finding, ...]


@dataclass
class _Room:
    """The rows at whose end a comment may stand, and the comments that stand there, each with its column."""

    rows: set[int] = field(default_factory=set)
    comments: dict[int, tuple[int, str]] = field(default_factory=dict)


def silenced(text: str, findings: Sequence[Finding], reason: str = "") -> Silenced:
    """What silences the `findings` of `text`: a comment on the first line of each, or on its last where the first has no room.

    None stands inside of a string or behind a backslash. Without a `reason`, codes join those that a comment of graphfix on the line lists already.
    """
    index, room = LineIndex(text), _room(text)
    codes: dict[int, list[str]] = {}
    left = []
    for finding in findings:
        rows = (index.place(finding.span.start)[0], index.place(max(finding.span.start, finding.span.end - 1))[0])
        row = next((row for row in rows if row in room.rows), None)
        if row is None:
            left.append(finding)
        else:
            codes.setdefault(row, []).append(finding.code)
    edits = tuple(_edit(index, room, row, list(dict.fromkeys(each)), reason) for row, each in sorted(codes.items()))
    return Silenced(edits, tuple(left))


def with_edits(text: str, edits: Sequence[Edit]) -> str:
    """`text` with the `edits`, which do not overlap."""
    data = text.encode("utf-8", "surrogatepass")
    for edit in sorted(edits, key=lambda one: one.span.start, reverse=True):
        data = data[: edit.span.start] + edit.content.encode() + data[edit.span.end :]
    return data.decode("utf-8", "surrogatepass")


def _edit(index: LineIndex, room: _Room, row: int, codes: list[str], reason: str) -> Edit:
    listed = ", ".join(codes)
    if row in room.comments and not reason:
        column, comment = room.comments[row]
        match = _LISTED.search(comment)
        if match is not None:
            place = index.offset(row, column + match.end("codes") + 1)
            return Edit(Span(place, place), f", {listed}" if match["codes"].strip() else listed)
    place = index.offset(row, len(index.line(row)) + 1)
    return Edit(Span(place, place), f"  # graphfix: ignore[{listed}]" + (f" {reason}" if reason else ""))


def _room(text: str) -> _Room:
    room = _Room()
    nested = 0  # a comment in the braces of a string is an error before Python 3.12
    for token in _tokens(text):
        nested += (token.type in _OPENED) - (token.type in _CLOSED)
        row, column = token.start
        if token.type == tokenize.COMMENT and not nested:
            room.comments[row] = (column, token.string)
        elif token.type in (tokenize.NEWLINE, tokenize.NL) and not nested:
            room.rows.add(row)
    return room


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    # newline=None so that a lone \r counts as a line here, as it does for the parser
    try:
        yield from tokenize.generate_tokens(io.StringIO(text, newline=None).readline)
    except (tokenize.TokenError, SyntaxError):
        return

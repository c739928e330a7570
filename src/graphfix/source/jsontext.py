"""The cells of a notebook in its JSON text, and new sources in their places: no other character changes."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from graphfix.lazy_dataclass import dataclass
from graphfix.source.errors import Skipped, SourceError

_BLANKS = re.compile(r"[ \t\r\n]*")
# One character of a string as JSON spells it
_SPELLED = re.compile(r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_ESCAPED = re.compile(r"\\u(?!00[0-7])[\da-fA-F]{4}")
_AS_WRITTEN: dict[str, Any] = {"parse_int": str, "parse_float": str, "parse_constant": str}


@dataclass(frozen=True)
class Literal:
    """A string of the JSON text, at its place with the quotes."""

    start: int
    end: int
    value: str


@dataclass(frozen=True)
class CellText:
    """A cell: its kind, the language it says it has, and its source as one string or as a list of lines."""

    kind: str
    language: str
    literals: tuple[Literal, ...]
    is_list: bool
    start: int

    @property
    def source(self) -> str:
        return "".join(literal.value for literal in self.literals)


@dataclass(frozen=True)
class NotebookText:
    """What graphfix reads of a notebook."""

    version: int
    language: str
    cells: tuple[CellText, ...]


class _Scanner:
    """Reads JSON at a place of a text and knows where it ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.decoder = json.JSONDecoder(**_AS_WRITTEN)
        self.blanks()

    def blanks(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, mark: str) -> None:
        if self.next() != mark:
            raise json.JSONDecodeError(f"expected {mark!r}", self.text, self.at)
        self.at += 1
        self.blanks()

    def value(self) -> Any:
        made, self.at = self.decoder.raw_decode(self.text, self.at)
        self.blanks()
        return made

    def literal(self) -> Literal:
        start = self.at
        if self.next() != '"':
            raise json.JSONDecodeError("expected a string", self.text, self.at)
        made, end = scanstring(self.text, start + 1, True)
        self.at = end
        self.blanks()
        return Literal(start, end, made)

    def items(self) -> Iterator[None]:
        """Stops at each item of the list, which the caller has to read."""
        self.take("[")
        while self.next() != "]":
            yield
            if self.next() != "]":
                self.take(",")
        self.take("]")

    def members(self) -> Iterator[str]:
        """The keys of the object; the caller has to read each value."""
        self.take("{")
        while self.next() != "}":
            key = self.literal().value
            self.take(":")
            yield key
            if self.next() != "}":
                self.take(",")
        self.take("}")


def scan(text: str) -> NotebookText:
    """The notebook in `text`; `SourceError` where there is none."""
    try:
        # read as a whole first: what the reader below lets pass (a comma too many) is found here
        _loaded(text)
        return _document(_Scanner(text))
    except json.JSONDecodeError as error:
        raise SourceError(f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno, error.colno) from error
    except RecursionError as error:
        raise Skipped("too deep") from error


def _loaded(text: str) -> Any:
    return json.loads(text, **_AS_WRITTEN)


def _document(scanner: _Scanner) -> NotebookText:
    found: dict[str, Any] = {}
    cells: tuple[CellText, ...] | None = None
    if scanner.next() != "{":
        raise SourceError("not a notebook")
    for key in scanner.members():
        if key == "cells" and scanner.next() == "[":
            cells = tuple(_cell(scanner) for _ in scanner.items())
        else:
            found[key] = scanner.value()
    version = found.get("nbformat")
    if not isinstance(version, str) or not version.isdigit():
        raise SourceError("not a notebook")
    if version != "4":
        raise Skipped(f"notebook of format {version}")
    if cells is None:
        raise SourceError("not a notebook")
    return NotebookText(int(version), _language(found.get("metadata")), cells)


def _language(metadata: object) -> str:
    """What the kernel speaks; a notebook that does not say it is taken for Python."""
    for path in (("language_info", "name"), ("kernelspec", "language")):
        value = _at(metadata, *path)
        if isinstance(value, str) and value:
            return value.lower()
    return "python"


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _cell(scanner: _Scanner) -> CellText:
    start = scanner.at
    kind, language, is_list = "", "", False
    literals: tuple[Literal, ...] = ()
    if scanner.next() != "{":
        raise SourceError("not a notebook")
    for key in scanner.members():
        if key == "source" and scanner.next() in ("[", '"'):
            is_list = scanner.next() == "["
            literals = tuple(scanner.literal() for _ in scanner.items()) if is_list else (scanner.literal(),)
        else:
            value = scanner.value()
            if key == "cell_type" and isinstance(value, str):
                kind = value
            elif key == "metadata":
                own = _at(value, "vscode", "languageId")
                language = own.lower() if isinstance(own, str) else ""
    return CellText(kind, language, literals, is_list, start)


# New sources


def replaced(text: str, cells: Sequence[CellText], sources: dict[int, str]) -> str | None:
    """The JSON text with new sources, by the number of the cell; None if anything else would change."""
    changes = []
    for number, source in sources.items():
        cell = cells[number]
        if cell.source != source and cell.literals:
            changes.append((cell.literals[0].start, cell.literals[-1].end, _respelled(text, cell, source)))
    made, position = [], 0
    for start, end, content in sorted(changes):
        made += [text[position:start], content]
        position = end
    after = "".join([*made, text[position:]])
    if _with(_loaded(text), sources) != _with(_loaded(after), sources, check=True):
        return None
    return after


def _with(notebook: Any, sources: dict[int, str], *, check: bool = False) -> Any:
    """The notebook with the sources as single strings; `check`: they have to be there already."""
    for number, source in sources.items():
        cell = notebook["cells"][number]
        old = cell["source"]
        joined = "".join(old) if isinstance(old, list) else old
        cell["source"] = [type(old).__name__, joined if check else source]
    return notebook


def _respelled(text: str, cell: CellText, source: str) -> str:
    """From the first to the last quote of the cell's source."""
    plain = _is_plain(text, cell)
    if not cell.is_list:
        (literal,) = cell.literals
        return '"' + _edited(_spelling(text, literal), literal.value, source, plain) + '"'
    old = [literal.value for literal in cell.literals]
    raw = [text[literal.start : literal.end] for literal in cell.literals]
    gaps = [text[first.end : second.start] for first, second in pairwise(cell.literals)]
    gap = max(gaps, key=gaps.count) if gaps else _gap(text, cell)
    made: list[tuple[str, int]] = []  # each string, and which of the old ones it is
    new = _lines(source, old)
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            made += [(raw[number], number) for number in range(a, b)]
        elif tag == "replace" and b - a == d - c:
            pairs = zip(cell.literals[a:b], new[c:d], strict=True)
            made += [('"' + _edited(_spelling(text, o), o.value, n, plain) + '"', a + i) for i, (o, n) in enumerate(pairs)]
        else:
            made += [(json.dumps(line, ensure_ascii=not plain), -1) for line in new[c:d]]
    pieces = [made[0][0]] if made else []
    for (_, before), (string, number) in pairwise(made):
        follows = before >= 0 and number == before + 1
        pieces += [gaps[before] if follows else gap, string]
    return "".join(pieces)


def _lines(source: str, old: list[str]) -> list[str]:
    """The lines as Jupyter writes them, or at \\n only where the notebook does it so."""
    joined = "".join(old)
    if joined.splitlines(keepends=True) != old and re.findall(r"[^\n]*\n|[^\n]+", joined) == old:
        return re.findall(r"[^\n]*\n|[^\n]+", source)
    return source.splitlines(keepends=True)


def _gap(text: str, cell: CellText) -> str:
    """What stands between lines, told from what stands in front of the only one."""
    first = cell.literals[0].start
    blanks = text[text.rfind("[", 0, first) + 1 : first]
    return "," + blanks if blanks.strip() == "" and blanks else ", "


def _is_plain(text: str, cell: CellText) -> bool:
    """Whether other characters than ASCII are written as they are: by what the cell does, else the notebook."""
    own = "".join(text[literal.start : literal.end] for literal in cell.literals)
    if not own.isascii():
        return True
    return not _ESCAPED.search(own) and not text.isascii()


def _spelling(text: str, literal: Literal) -> list[str]:
    return _SPELLED.findall(text[literal.start + 1 : literal.end - 1])


def _edited(spelled: list[str], old: str, new: str, plain: bool) -> str:
    """`new` in JSON: what `old` has in common with it keeps its spelling."""
    if len(spelled) != len(old):
        return json.dumps(new, ensure_ascii=not plain)[1:-1]
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    offsets = [0]
    for line in before:
        offsets.append(offsets[-1] + len(line))
    made = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        part = spelled[offsets[a] : offsets[b]]
        if tag == "equal":
            made += part
        elif tag == "replace" and b - a == d - c:
            for number in range(b - a):
                own = spelled[offsets[a + number] : offsets[a + number + 1]]
                made.append(_middle(own, before[a + number], after[c + number], plain))
        else:
            made.append(_middle(part, "".join(before[a:b]), "".join(after[c:d]), plain))
    return "".join(made)


def _middle(spelled: list[str], old: str, new: str, plain: bool) -> str:
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    tail = next((i for i in range(shorter - head) if old[-1 - i] != new[-1 - i]), shorter - head)
    inner = json.dumps(new[head : len(new) - tail], ensure_ascii=not plain)[1:-1]
    return "".join(spelled[:head]) + inner + "".join(spelled[len(old) - tail :])

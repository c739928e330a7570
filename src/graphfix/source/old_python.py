"""Python 2 read as Python 3: a text of as many bytes, so that every place stays where it is.

`print x` becomes `print,x` (the gate reads it as a call), `except E, e:` loses its name, `raise E, x` becomes two statements, and a
name `async` gets another letter. What the file says at such places stays as it is: a fix that would touch one of their lines is
withdrawn (https://docs.python.org/3/whatsnew/3.0.html, https://peps.python.org/pep-0492/#deprecation-plans).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import field, replace

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Fix, Move, Wrap
from graphfix.source.errors import Torn
from graphfix.source.lines import NEWLINE, LineIndex
from graphfix.source.text import BOM, Source

_HIDDEN = re.compile(
    r"(?P<comment>\#[^\r\n]*)"
    r"|(?P<open>'''|\"\"\")(?P<long>(?:[^\\]|\\.)*?)(?P=open)"
    r"|(?P<quote>['\"])(?P<short>(?:[^\\\r\n]|\\.)*?)(?P=quote)",
    re.DOTALL,
)
_BEGIN = r"(?:^[ \t]*|[;:][ \t]*|\belse:[ \t]*)"
_PRINT = re.compile(
    rf"(?m){_BEGIN}(?P<word>print|exec)(?P<space>[ \t])(?=[ \t]*[\w\"'`\[{{~])(?![ \t]*(?:in|is|and|or|not|if)\b)"
)
_BRACKETED = re.compile(rf"(?m){_BEGIN}(?P<word>print)(?P<space>[ \t])(?=[ \t]*\()")
_EXCEPT = re.compile(r"(?am)^[ \t]*except[ \t]+(?:[\w.]+|\([^()\r\n]*\))(?P<name>[ \t]*,[ \t]*\w+[ \t]*):")
_RAISE = re.compile(r"(?m)\braise[ \t]+[\w.]+[ \t]*(?P<comma>,)")
_NUMBER = re.compile(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)(?P<long>[lL])\b")
_OCTAL = re.compile(r"(?<![\w.])(?P<zeros>0+)(?=[1-7][0-7]*(?![\w.]))")
_ASYNC = re.compile(
    r"(?P<first>\b(?:async|await)\b)(?=[ \t]*(?:=|[,).:]))|(?<=\.)(?P<second>async|await)\b|(?<=import )(?P<third>async)\b"
)
_DISGUISED = re.compile(r"\ba0(?=ync\b|ait\b)")
_UNEQUAL = re.compile(r"(?P<sign><>)")
_TICKS = re.compile(r"(?P<first>`)[^`\r\n]*(?P<last>`)")
_PREFIX = re.compile(r"(?<!\w)(?P<u>[uU])[rR](?=['\"])")


def modernised(text: str) -> str:
    """The text with what only Python 2 understands written for Python 3, in as many bytes each; it need not parse for that."""
    seen = _HIDDEN.sub(_masked, text)
    edits: list[tuple[int, int, str]] = []
    for match in _PRINT.finditer(seen):
        edits.append((*match.span("space"), ","))
    for match in _BRACKETED.finditer(seen):  # `print (a), b` is Python 3 as well, `print (a) % b` another value
        edits.append((*match.span("space"), ","))
    edits += [(*match.span("name"), " " * len(match["name"])) for match in _EXCEPT.finditer(seen)]
    edits += [(*match.span("comma"), ";") for match in _RAISE.finditer(seen)]
    edits += [(*match.span("long"), " ") for match in _NUMBER.finditer(seen)]
    edits += [(*match.span("zeros"), " " * len(match["zeros"])) for match in _OCTAL.finditer(seen)]
    edits += [(*match.span("sign"), "!=") for match in _UNEQUAL.finditer(seen)]
    edits += [(*match.span("u"), " ") for match in _PREFIX.finditer(seen)]
    for match in _TICKS.finditer(seen):
        edits += [(*match.span("first"), "("), (*match.span("last"), ")")]
    for match in _ASYNC.finditer(seen):
        assert match.lastgroup is not None
        edits.append((*match.span(match.lastgroup), match[match.lastgroup][:1] + "0" + match[match.lastgroup][2:]))
    made, position = [], 0
    for start, end, word in sorted(edits):
        if start >= position:
            made += [text[position:start], word]
            position = end
    return "".join([*made, text[position:]])


def _masked(match: re.Match[str]) -> str:
    """Strings without their words, comments without theirs: what they say is no code."""
    if match["comment"] is not None:
        return " " * len(match[0])
    quote = match["open"] or match["quote"]
    inner = match["long"] if match["open"] else match["short"]
    return quote + "".join(each if each in "\r\n" else "." for each in inner) + quote


@dataclass(frozen=True)
class OldSource(Source):
    """A file of Python 2: `text` is what Python 3 reads for it, `written` what it says."""

    written: str = field(default="", repr=False)

    def index(self) -> LineIndex:
        return LineIndex(self.written)

    def encode(self, text: str) -> bytes:
        """The bytes of the file if it held `text`: lines that are not changed stay as they are written."""
        old, new, written = (lines_of(each) for each in (self.text, text, self.written))
        made: list[str] = []
        for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            made += written[a:b] if kind == "equal" else new[c:d]
        return super().encode("".join(made))

    def edited(self, text: str) -> Source:
        data = self.encode(text)
        written = data[len(BOM) if self.bom else 0 :].decode(self.encoding)
        if modernised(written) != text:
            raise Torn("a fix would change what today's Python cannot read")
        return replace(self, text=text, data=data, written=written)

    def confined(self, text: str, findings: list[Finding]) -> list[Finding]:
        """The findings in `text`, without the fixes that would change a line that Python has not been able to read since 3.0, or since 3.7 (`async`)."""
        old, written = lines_of(self.text), lines_of(self.written)
        other = {line for line, as_written in zip(old, written) if line != as_written}
        lines = lines_of(text)
        index = LineIndex(text)
        why = "it would change a line that today's Python cannot read"
        return [
            finding.without_fix(why) if finding.fix is not None and _touches(index, lines, other, finding.fix) else finding
            for finding in map(as_written, findings)
        ]


def as_written(finding: Finding) -> Finding:
    """A finding that quotes names as the file writes them, and not as Python 3 can read them."""
    repair = finding.fix and replace(finding.fix, title=_restored(finding.fix.title))
    story = tuple(replace(label, message=_restored(label.message)) for label in finding.story)
    return replace(finding, message=_restored(finding.message), story=story, fix=repair, unfixed=_restored(finding.unfixed), by_hand=_restored(finding.by_hand))


def _restored(text: str) -> str:
    return _DISGUISED.sub(lambda match: "as" if text.startswith("ync", match.end()) else "aw", text)


def lines_of(text: str) -> list[str]:
    """Lines with their ends, as `LineIndex` counts them: a form feed ends none."""
    ends = [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]
    return [text[start:end] for start, end in zip(ends, ends[1:]) if start < end]


def _touches(index: LineIndex, lines: list[str], other: set[str], fix: Fix) -> bool:
    spans = [span for each in fix.operations for span in (each.spans if isinstance(each, Wrap) else (each.span,))]
    spans += [each.before for each in fix.operations if isinstance(each, Move)]
    rows = {row for span in spans for row in range(index.place(span.start)[0], index.place(span.end)[0] + 1)}
    return any(lines[row - 1] in other for row in rows if row <= len(lines))

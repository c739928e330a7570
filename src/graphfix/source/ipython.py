"""What IPython adds to Python, put out of the parser's sight: `%magic`, `!shell`, `name?`, `%%cell` magics.

A line that only IPython understands becomes a line of the same number of bytes that means nothing to Python (`0#~~~`), so
that every other byte stays where it is; `restored` puts the old words back into the text, edited or not. What a magic runs
as code of the notebook stays visible: `%time total += loss` reads as `0;    total += loss`, and `lines = !ls` binds `lines` to
something unknown. A cell that is Python as it stands is not touched at all.

As in ruff and black, a cell under `%%time`, `%%timeit`, `%%capture` and their like is code and only its first line is hidden.
A cell under any other cell magic (`%%bash`, `%%html`, `%%writefile`) is none. So is one under `%%python`, which ruff and
black do read: its names live in another process. Unlike ruff, which refuses a notebook for one syntax error, a cell that
does not parse is left out: it could not run either, so there is nothing in it that the rest has to live with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphfix.source.errors import SourceError, Torn
from graphfix.source.guard import parse, parses
from graphfix.source.lines import NEWLINE

# Cell magics that run the cell in the notebook's own namespace
CODE_MAGICS = frozenset(("capture", "debug", "ipytest", "memit", "prun", "time", "timeit"))

_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w*)")
_ESCAPE = re.compile(r"[ \t\f]*(?P<magic>[!?%,;/][^\r\n]*)")
_HELP = re.compile(r"[ \t\f]*(?P<magic>[\w*][\w.*]*\?\??[ \t\f;]*)(?=[\r\n]|\Z)")
_ASSIGNED = re.compile(r"[ \t\f]*[\w.][\w.,*\[\]'\" \t]*=[ \t]*(?P<magic>[!%][^\r\n]*)")
_TIMED = re.compile(
    r"(?P<magic>%(?:time|timeit|prun|memit)[ \t]+(?:-[nrp][ \t]*\d+[ \t]+|-[cotq]+[ \t]+)*)(?P<code>[^\s\-][^\r\n]*)"
)
_TOKEN = re.compile(
    r"#[^\r\n]*|(?P<triple>'''|\"\"\")|'(?:[^\\'\r\n]|\\.)*'|\"(?:[^\\\"\r\n]|\\.)*\""
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|\\(?:\r\n|\r|\n)|(?P<newline>\r\n|\r|\n)",
    re.DOTALL,
)
NEWLINE_KEPT = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_BOUND = re.compile(
    r"(?P<name>[A-Za-z_]\w*(?:[ \t]*,[ \t]*[A-Za-z_]\w*)*)[ \t]*=(?!=)|(?:async[ \t]+)?(?:def|class)[ \t]+(?P<defined>\w+)"
)
_TRIPLE_ENDS = {
    "'''": re.compile(r"(?:[^\\']|\\.|'(?!''))*'''", re.DOTALL),
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*"""', re.DOTALL),
}

# A hidden line, what goes on below one, the unknown value of a magic, and the hidden words in front of code
HIDDEN = re.compile(
    rb"(?:\A|(?<=[\r\n]))"
    rb"(?:[ \t\f]*(?:(?P<line>0#~*|#~+)(?=[\r\n]|\Z)|(?P<front>0; +)(?=\S))|[^\r\n#]*=[ \t]*(?P<value>_#~*)(?=[\r\n]|\Z))"
)


def hidden(cell: str) -> str:
    """The cell as Python, byte for byte as long; `SourceError` where it is none, empty for one in another language."""
    magic = _CELL_MAGIC.match(cell)
    if magic and magic["name"] not in CODE_MAGICS:
        return ""
    if not magic and parses(cell):
        return cell
    made, position = [], 0
    for start, end, word in _hidings(cell):
        made += [cell[position:start], _padded(word, cell[start:end])]
        position = end
    text = "".join([*made, cell[position:]])
    parse(text)
    data = text.encode()
    if restored(data, originals(data, cell.encode())) != cell.encode():
        raise SourceError("IPython syntax that cannot be distinguished from Python")
    return text


def forgotten(cell: str) -> str:
    """A cell that does not parse, as many bytes that do: all that it binds at the top is unknown afterwards, not what it was."""
    return "".join(_forgotten(line) for line in NEWLINE_KEPT.findall(cell))


def _forgotten(line: str) -> str:
    body = line.rstrip("\r\n")
    room = len(body.encode())
    bound = _BOUND.match(body)
    if bound is not None:
        word = f"{bound['name'] or bound['defined']}=_#"
        if len(word.encode()) <= room:
            return word + "~" * (room - len(word.encode())) + line[len(body) :]
    return ("0#" + "~" * (room - 2) if room > 1 else "#" * room) + line[len(body) :]


def originals(text: bytes, cell: bytes) -> list[tuple[bytes, bytes]]:
    """What stands for what, in order: the hidden places of `text` and the same bytes of the cell."""
    return [(match[name], cell[match.start(name) : match.end(name)]) for match, name in places(text)]


def places(text: bytes) -> Iterator[tuple[re.Match[bytes], str]]:
    """The hidden places of a text; a line of real code that looks like one stands for itself."""
    for match in HIDDEN.finditer(text):
        assert match.lastgroup is not None
        yield match, match.lastgroup


def restored(text: bytes, words: list[tuple[bytes, bytes]]) -> bytes:
    """The text with IPython's words in their places; `Torn` where it does not hold the same places in the same order."""
    found = list(places(text))
    if [match[name] for match, name in found] != [mask for mask, _ in words]:
        raise Torn("a fix would break an IPython command")
    made, position = [], 0
    for (match, name), (_, word) in zip(found, words, strict=True):
        made += [text[position : match.start(name)], word]
        position = match.end(name)
    return b"".join([*made, text[position:]])


def _padded(word: str, original: str) -> str:
    pad = len(original.encode()) - len(word)
    if pad < 0:
        raise SourceError("IPython syntax that is too short to handle")
    return word + (" " if word == "0;" else "~") * pad


def _hidings(cell: str) -> Iterator[tuple[int, int, str]]:
    """Which characters to hide behind which word, in order."""
    position = 0
    while position < len(cell):
        escape = _ESCAPE.match(cell, position) or _HELP.match(cell, position) or _ASSIGNED.match(cell, position)
        if escape is None:
            position = _next_logical_line(cell, position)
            continue
        start, end = escape.span("magic")
        timed = _TIMED.fullmatch(cell, start, end)
        if timed is not None and escape.re is _ESCAPE and parses(timed["code"]):
            yield start, timed.end("magic"), "0;"
        else:
            yield start, end, "_#" if escape.re is _ASSIGNED else "0#"
        while cell[end - 1] == "\\" and end < len(cell):
            start = _next_line(cell, end)
            end = start + len(cell[start : _next_line(cell, start)].rstrip("\r\n"))
            words = cell[start:end].lstrip(" \t\f")
            if words:
                yield end - len(words), end, "#"
        position = _next_line(cell, end)


def _next_line(cell: str, position: int) -> int:
    newline = NEWLINE.search(cell, position)
    return newline.end() if newline else len(cell)


def _next_logical_line(cell: str, position: int) -> int:
    """Where the logical line ends that begins at `position`: no newline in brackets or in a string ends it."""
    depth = 0
    while True:
        token = _TOKEN.search(cell, position)
        if token is None:
            return len(cell)
        position = token.end()
        if token["triple"]:
            closing = _TRIPLE_ENDS[token["triple"]].match(cell, position)
            if closing is None:
                return len(cell)
            position = closing.end()
        elif token["open"]:
            depth += 1
        elif token["close"]:
            depth -= 1
        elif token["newline"] and depth <= 0:
            return position

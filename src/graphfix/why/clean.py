"""Pasted bytes as plain lines: without colours, markup of web pages, quoting of JSON, and the prefixes of logs."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

MAX_READ = 32_000_000
MAX_BYTES = 4_000_000
# of a traceback whose message is longer than that, and of what stands before it
_HEAD, _BEFORE = 1_000_000, 64_000
_MARKS = (b"Traceback (most recent call last)", b'", line ', b"\nE   ")  # by the surest one that is there
MAX_LINE = 4_000
# no terminal is narrower
_NARROW = 40
_COLOUR = re.compile(
    r"(?:\x1b|\\x1b|\\u001b|\\033|\\e)(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))"  # as sent, or as JSON and repr write it
    r"|\[(?:\d{1,3};)*\d{1,3}m"  # as a page shows it that swallows the escape
)
_ESCAPED_LINES = re.compile(r"\\n\s*(?:File |Traceback|[\w.]+(?:Error|Exception)\b)|Traceback \(most recent call last\):\\n")
_LINK = re.compile(r"\[((?:[^\[\]\n]|\[\d*\]){1,500})\]\((?:https?|file|vscode|command)[^()\s]*\)")
_PLACE = re.compile(r"File \"[^\"]+\", line \d+")
_FLAT = re.compile(
    r"\s*(?=\bFile \"[^\"]+\", line \d)|(?<=, in)(?P<function> [\w<>.]+) +(?=\S)|\s+(?=\b(?:[\w.]+\.)?[A-Z]\w*Error: )"
)
# who speaks where several processes share a log: those of torchrun, of ray, of docker compose
_SPEAKER = re.compile(
    r"(?P<speaker>\[\d+,\d+\]<std(?:err|out)>:|\[(?:rank|default|local_rank|Rank )\d+\]:?|\([^()]*pid=\d+[^()]*\)|[A-Za-z][\w.]*-\d+\s+\|)\s?"
)
_PREFIX = re.compile(
    r"(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?"  # dates
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?"  # times
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d \S+ \S+?\[\d+\]:"  # syslog
    r"|\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|stderr|stdout|err|out)\]?(?:\s*[|:]|(?= +\S)|(?=-))"
    r"|std(?:err|out) [FP](?= )"  # kubernetes
    r"|[|:]|-(?= )"
    r")[ \t]?"
)


def tail(data: bytes) -> bytes:
    """The last bytes of a long log, from the beginning of a line on, below the last traceback that begins before them."""
    if len(data) <= MAX_BYTES:
        return data
    first = len(data) - MAX_BYTES
    last = max(data.find(b"\n", first) + 1, first)
    begun = next((place for mark in _MARKS if (place := data.rfind(mark, 0, first)) >= 0), -1)
    if begun < 0:
        return data[last:]
    begun = data.rfind(b"\n", 0, max(0, begun - _BEFORE)) + 1
    return data[begun : min(begun + _BEFORE + _HEAD, first)] + b"\n" + data[last:]


def decoded(data: bytes) -> str:
    """Text in whatever encoding a terminal or a shell may have written it; never raises."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def lines_of(text: str) -> list[str]:
    """The lines, plain, those of each process of a log together; their indentation is kept."""
    text = _COLOUR.sub("", text.replace("\u2019", "'").replace("\xa0", " "))
    if "&lt;module&gt;" in text or "&quot;" in text:
        text = html.unescape(text)
    if _ESCAPED_LINES.search(text):
        text = text.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")
    text = text.replace("\r\n", "\n")
    # a lone \r is where a progress bar goes back to the beginning of its line
    lines = [part[:MAX_LINE].rstrip() for line in text.split("\n") for part in line.split("\r")]
    lines = [_LINK.sub(r"\1", line) if "](" in line else line for line in _by_speaker(lines)]
    return list(_unwrapped(part for line in lines for part in _apart(line)))


def _apart(line: str) -> list[str]:
    """The lines of a traceback that was pasted where newlines are lost."""
    if len(_PLACE.findall(line)) < 2:
        return [line]
    return _FLAT.sub(lambda match: (match["function"] or "") + "\n", line).split("\n")


def _unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with the paths whole that a terminal has broken at its edge."""
    held = ""
    for line in lines:
        if held:
            whole = held + line
            if _PLACE.search(whole):
                held = ""
                yield whole
                continue
            yield held
        held = ""
        if 'File "' in line and not _PLACE.search(line) and len(line) >= _NARROW:
            held = line
        else:
            yield line
    if held:
        yield held


def _by_speaker(lines: list[str]) -> list[str]:
    """Lines that several processes wrote in turns, one process after the other; what has no speaker belongs to the line above."""
    told: list[tuple[str, str]] = []
    speaker = ""
    for line in lines:
        match = _SPEAKER.match(line)
        if match:
            speaker = match["speaker"]
        told.append((speaker, line[match.end() :] if match else line))
    told.sort(key=lambda pair: pair[0])
    return [line for _, group in groupby(told, key=lambda pair: pair[0]) for _, line in group]


def without_prefix(line: str) -> str:
    """The line without what a logger wrote in front; indentation behind it is kept."""
    position = 0
    while position < len(line):
        match = _PREFIX.match(line, position)
        if match is None or match.end() == position:
            break
        position = match.end()
    return line[position:]

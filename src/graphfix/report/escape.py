"""Text from files and names as it may be shown: nothing in it can move the cursor or forge a line."""

from __future__ import annotations

import os
import re
import shlex
import unicodedata

# C0, DEL and C1 controls, line and paragraph separators, surrogates
_CONTROL = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# Unicode's category Cf: what turns the direction, joins, tags or hides
_FORMAT = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
# letters and marks that show nothing, also in identifiers. The last two variation selectors of the first 16 belong to emoji
_EMPTY = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef"
_UNSAFE = re.compile(f"[{_CONTROL}{_FORMAT}{_EMPTY}]")
TAB = 4


def escaped(text: str) -> str:
    """`text` with every character that is not plainly visible written as an escape."""
    return _UNSAFE.sub(_escape, text)


def typed(*words: str) -> str:
    """A command as a shell takes it from the clipboard: a word with characters that are not plainly visible as `$'...'`."""
    return " ".join(_quoted(word) for word in words)


def as_argument(path: str) -> str:
    """`path` as a command takes it for a path and not for an option."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def _quoted(word: str) -> str:
    if not _UNSAFE.search(word):
        return shlex.quote(word)
    plain = word.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + _UNSAFE.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in os.fsencode(match.group())), plain) + "'"


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shown(line: str) -> str:
    """A source line for display: tabs as spaces, so that marks below it stay in place, the rest escaped."""
    return escaped(line.replace("\t", " " * TAB))


def width(line: str) -> int:
    """How many cells of a terminal the displayed `line` takes."""
    text = shown(line)
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

"""Unified diffs that `git apply` takes, whatever the encoding: bytes travel as latin-1 characters."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_NO_NEWLINE = "\\ No newline at end of file\n"
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


class BadPatch(Exception):
    """The patch would not make the wanted bytes: a fault of graphfix, never printed as a patch."""


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The patch from `before` to `after` for the relative `path`; read back and replayed before it is given out."""
    if before == after:
        return b""
    body = "".join(_body(before, after))
    patch = f"--- {_quoted('a/' + path)}\n+++ {_quoted('b/' + path)}\n{body}"
    replayed = _replay(before, patch)
    if replayed != after:
        raise BadPatch(f"the patch of {path} does not produce the fixed file")
    return patch.encode("latin-1")


def changed_lines(before: bytes, after: bytes) -> int:
    """How many lines of `before` are others, or gone, in `after`, with those that are new there."""
    parts = difflib.SequenceMatcher(None, _lines(before), _lines(after)).get_opcodes()
    return sum(max(old_end - old, new_end - new) for tag, old, old_end, new, new_end in parts if tag != "equal")


def _lines(data: bytes) -> list[str]:
    # git ends a line at \n only: a lone \r, or what str.splitlines takes for a newline, stays inside
    lines = data.decode("latin-1").split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _body(before: bytes, after: bytes) -> Iterator[str]:
    lines = difflib.unified_diff(_lines(before), _lines(after), n=3)
    for number, line in enumerate(lines):
        if number < 2:
            continue
        yield line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}"


def _quoted(name: str) -> str:
    """The header name as git writes it: C-quoted bytes for odd names, a final tab where there is a space."""
    data = name.encode("utf-8", "surrogateescape")
    if all(32 <= byte < 127 and byte not in _ESCAPES for byte in data):
        return name + "\t" if " " in name else name
    return '"' + "".join(_quoted_byte(byte) for byte in data) + '"'


def _quoted_byte(byte: int) -> str:
    if byte in _ESCAPES:
        return "\\" + _ESCAPES[byte]
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"


def _replay(before: bytes, patch: str) -> bytes:
    """What the patch, as another reader understands it, makes of `before`."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        files = list(PatchSet.from_string(patch))
    except UnidiffParseError as error:
        raise BadPatch(f"the patch cannot be read back: {error}") from error
    if len(files) != 1:
        raise BadPatch(f"the patch reads back as {len(files)} files")
    old = _lines(before)
    new: list[str] = []
    position = 0
    for hunk in files[0]:
        start = hunk.source_start - 1 if hunk.source_length else hunk.source_start
        new += old[position:start]
        new += [line.value for line in hunk if line.is_context or line.is_added]
        position = start + hunk.source_length
    new += old[position:]
    return _joined(new, patch).encode("latin-1")


def _joined(lines: list[str], patch: str) -> str:
    text = "".join(lines)
    # unidiff ends every line with \n and keeps the marker apart; the marker after the last new line cuts it off
    tail = patch.rsplit("\n", 3)
    ends_bare = tail[-2] + "\n" == _NO_NEWLINE and tail[-3][:1] in "+ "
    return text[:-1] if ends_bare and text.endswith("\n") else text

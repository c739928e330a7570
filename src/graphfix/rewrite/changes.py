"""Byte changes: what operations come down to before the text is spliced."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

from graphfix.lazy_dataclass import dataclass

_TOKEN = re.compile(rb"\w+|[ \t]+|\s|.", re.DOTALL)

# The order of insertions at one point: what closes comes before what opens.
CLOSES, AFTER, BEFORE, HEADER, OPENS = range(5)


@dataclass(frozen=True, order=True)
class Change:
    """Replace the bytes from `start` to `end`; `rank` orders insertions at one point."""

    start: int
    end: int
    rank: tuple[int, int] = (BEFORE, 0)
    content: bytes = b""

    @property
    def inserts(self) -> bool:
        return self.start == self.end


def splice(data: bytes, changes: Iterable[Change]) -> bytes:
    pieces, position = [], 0
    for change in sorted(changes):
        pieces += [data[position : change.start], change.content]
        position = change.end
    return b"".join([*pieces, data[position:]])


def overlap(first: Change, second: Change) -> bool:
    """Two changes of one fix: lines may go beside what is replaced, but nothing into it."""
    if first.inserts and second.inserts:
        return False
    if first.inserts:
        return _within(first, second)
    if second.inserts:
        return _within(second, first)
    return first.start < second.end and second.start < first.end


def _within(inserted: Change, replaced: Change) -> bool:
    """What opens or closes something belongs to the text at whose edge it stands."""
    kind = inserted.rank[0]
    at_start = inserted.start == replaced.start and kind in (HEADER, OPENS)
    at_end = inserted.start == replaced.end and kind == CLOSES
    return at_start or at_end or replaced.start < inserted.start < replaced.end


def touch(first: Change, second: Change) -> bool:
    """Two changes of different fixes: where they meet at a point, their order would decide."""
    return first.start <= second.end and second.start <= first.end


def trimmed(start: int, old: bytes, new: bytes) -> list[Change]:
    """The one change that makes `new` of `old`, without what both begin and end with."""
    if old == new:
        return []
    head = _same(old, new)
    tail = min(_same(old[::-1], new[::-1]), len(old) - head, len(new) - head)
    # Never between the bytes of one character
    while head and _continues(old, head) | _continues(new, head):
        head -= 1
    while tail and _continues(old, len(old) - tail) | _continues(new, len(new) - tail):
        tail -= 1
    return [Change(start + head, start + len(old) - tail, content=new[head : len(new) - tail])]


def _same(first: bytes, second: bytes) -> int:
    for position, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return position
    return min(len(first), len(second))


def _continues(data: bytes, position: int) -> bool:
    return position < len(data) and data[position] & 0xC0 == 0x80


def differences(start: int, old: bytes, new: bytes) -> list[Change]:
    """Several small changes, token by token, that make `new` of `old`."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    offsets = [0]
    for token in before:
        offsets.append(offsets[-1] + len(token))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Change(start + offsets[a], start + offsets[b], content=b"".join(after[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def shifted(offset: int, changes: Sequence[Change]) -> int:
    """Where a byte that no change touches stands afterwards."""
    return offset + sum(len(c.content) - (c.end - c.start) for c in changes if c.end <= offset)

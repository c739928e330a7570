"""What an analysis has said of a text, said of one that differs from it in comments and layout alone."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding, Fix, Span
from graphfix.run.engine import Analysis
from graphfix.run.glimpse import Glimpse
from graphfix.source.homes import moved
from graphfix.source.lines import LineIndex

# tokens that stand for the layout of statements: that they are there counts, not how they are written
LAYOUT = frozenset((tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER))
SILENT = frozenset((tokenize.COMMENT, tokenize.NL, tokenize.ENCODING))
# comments that speak to graphfix, and what may repeat a comment or count lines
SPEAKS = re.compile(r"noqa|graphfix", re.IGNORECASE)
COUNTS = re.compile(r"\blines? \d")
Move = Callable[[Span], Span]


class Elsewhere(Exception):
    """A place has no counterpart."""


@dataclass(frozen=True)
class Sibling:
    """A text that says what others say whose tokens are its own."""

    text: str


@dataclass(frozen=True, eq=False)
class Tokens:
    """What a text says: all that it `says`; and where each token `starts` and `ends`, in bytes."""

    says: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def tokens_of(text: str) -> Tokens | None:
    """The tokens of a program; None where a comment may speak to graphfix, or the text is no program."""
    if SPEAKS.search(text):
        return None
    said: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    try:
        index = LineIndex(text)
        for each in tokenize.generate_tokens(io.StringIO(text).readline):
            if each.type in SILENT:
                continue
            written = "" if each.type in LAYOUT else each.string
            said.append(f"{each.type}:{len(written)}:{written}")
            if each.type not in LAYOUT:
                starts.append(index.offset(each.start[0], each.start[1] + 1))
                ends.append(index.offset(each.end[0], each.end[1] + 1))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return Tokens("".join(said), tuple(starts), tuple(ends))


def moving(before: Tokens, after: Tokens) -> Move:
    """Where what lies at a place of the one text lies in the other. What it gives raises `Elsewhere` for what begins or ends in no token."""

    def move(span: Span) -> Span:
        first = bisect_right(before.starts, span.start) - 1
        last = bisect_right(before.starts, span.end - 1) - 1
        if first < 0 or span.start >= before.ends[first] or span.end > before.ends[last] or span.end <= span.start:
            raise Elsewhere
        start = after.starts[first] + span.start - before.starts[first]
        return replace(span, start=start, end=after.starts[last] + span.end - before.starts[last])

    return move


def analysis_of(known: Analysis, move: Move, path: str) -> Analysis:
    """The analysis of the program that begins in the file at `path`, whose text was laid out anew; raises `Elsewhere`."""
    return replace(
        known,
        findings=tuple(finding_at(each, move, path) for each in known.findings),
        unasked=tuple(finding_at(each, move, path) for each in known.unasked),
        refuted=tuple((code, file, move(span) if file == path else span) for code, file, span in known.refuted),
        usual=glimpse_of(known.usual, move) if known.usual is not None else None,
    )


def glimpse_of(known: Glimpse, move: Move) -> Glimpse:
    return replace(known, told=tuple((code, file, span if file else move(span)) for code, file, span in known.told))


def finding_at(finding: Finding, move: Move, path: str) -> Finding:
    """A finding, with what lies in the file at `path` where it lies now."""
    if any(map(COUNTS.search, said_in(finding))):
        raise Elsewhere

    def at_home(span: Span) -> Span:
        return move(span) if (span.path or finding.path) == path else span

    story = tuple(replace(each, span=move(each.span)) if each.path == path else each for each in finding.story)
    fixes = [moved(each, at_home) for each in (finding.fix, finding.another)]
    better = tuple((code, at_home(span)) for code, span in finding.yields_to)
    ending = tuple((code, at_home(span)) for code, span in finding.ended_by)
    return replace(
        finding, span=at_home(finding.span), story=story, fix=fixes[0], another=fixes[1], yields_to=better, ended_by=ending
    )


def said_in(finding: Finding) -> Iterator[str]:
    """The sentences of a finding; of its fixes the code, too, where that may repeat a comment."""
    yield from (finding.message, finding.unfixed, finding.by_hand, *(each.message for each in finding.story))
    for each in (finding.fix, finding.another):
        if each is not None:
            yield from (each.title, each.doubt)
            yield from ("line 1" for text in texts_in(each) if "#" in text)


def texts_in(repair: Fix) -> Iterator[str]:
    return (text for each in repair.operations for text in (getattr(each, "text", ""), getattr(each, "value", "")) if isinstance(text, str))

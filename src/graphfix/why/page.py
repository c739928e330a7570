"""The page of an error in docs/errors, and the table of them all, in Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from graphfix.why.kinds import Kind, Way, all_kinds

WIDTH = 130
ROOM = 95  # for a message in the table
_ABOUT = """\
`graphfix why` explains these messages, and finds the line that causes them: `python3 train.py 2>&1 | graphfix why`. Each page has the
causes, the most frequent first, with what to write instead. Three dots stand for what differs from case to case.
[How to use it](../why.md)."""
_CODE = re.compile(  # what is code already, a call, an argument, a name
    r"`[^`]*`|\b[A-Za-z_][\w.]*\([\w.=, ]*\)|\b\w+=(?:True|False)\b"
    r"|\btorch\.compile\b|(?<!\w)\.(?:grad|data)\b|\brequires_grad\b|\btraining_step\b|\bdeepcopy\b|\bDistributedDataParallel\b"
)
_SENTENCE = re.compile(r"(?<!\.)\.(?= |$)")


def table_of_errors() -> str:
    """The page that leads to all others."""
    rows = [f"| `{_short(kind.printed[0])}` | {_code(kind.title)} | [{kind.key}]({kind.key}.md) |" for kind in all_kinds()]
    return "\n".join(["# Errors", "", _ABOUT, "", "| message | meaning | page |", "|---|---|---|", *rows, ""])


def page(kind: Kind) -> str:
    """All that is known of one error."""
    return "\n".join(_lines(kind)) + "\n"


def _lines(kind: Kind) -> Iterator[str]:
    yield from (f"# {_code(kind.heading)}", "", "```")
    for number, message in enumerate(kind.printed):
        if number:
            yield ""
        yield from textwrap.wrap(message, 100, break_on_hyphens=False, break_long_words=False)
    yield from ("```", "", *_prose(kind.says), "", "## What to do", "", *_prose(kind.repair), "")
    yield from _prose(
        "Give `graphfix why` the whole traceback, and it looks for the line that causes it: `python3 train.py 2>&1 | graphfix why`."
    )
    if kind.codes:
        yield from ("", *_prose(f"The rules that it checks: {', '.join(map(_link, kind.codes))}."))
    yield from ("", "## Causes", "", "The most frequent one first.") if len(kind.ways) > 1 else ("", "## The cause")
    for number, way in enumerate(kind.ways, 1):
        yield from _cause(kind, f"{number}. " if len(kind.ways) > 1 else "", way)


def _cause(kind: Kind, number: str, way: Way) -> Iterator[str]:
    yield from ("", f"### {number}{_code(way.title)}", "", *_prose(way.says), "", "```diff", *way.change.split("\n"), "```", "")
    yield from _prose(_seen(kind, way))


def _seen(kind: Kind, way: Way) -> str:
    """How this cause is found."""
    if way.codes:
        return f"{'Rule' if len(way.codes) == 1 else 'Rules'}: {', '.join(map(_link, way.codes))}."
    if way.see or kind.see:
        return f"No rule finds it. {way.see or kind.see}"
    if kind.is_traced:
        return "No rule finds it. `graphfix trace train.py` names the line that made the tensor."
    if kind.is_local:
        return "No rule finds it. The last line of your own code in the traceback is the one to change, or the one that made its tensor."
    return (
        "No rule finds it. `graphfix trace train.py` runs the program, and shows which line recorded the graph and where it was cut, "
        "freed or written to."
    )


def _prose(text: str) -> list[str]:
    whole = re.sub(r"`[^`]*`", lambda match: match[0].replace(" ", "\0"), _code(" ".join(text.split())))
    return [line.replace("\0", " ") for line in textwrap.wrap(whole, WIDTH, break_on_hyphens=False, break_long_words=False)]


def _code(text: str) -> str:
    """The text with calls and arguments as code."""
    return _CODE.sub(lambda match: match[0] if match[0].startswith("`") else f"`{match[0]}`", text)


def _link(code: str) -> str:
    return f"[{code}](../rules/{code}.md)"


def _short(message: str) -> str:
    """The first sentence of a message, as much as a table has room for."""
    first = _SENTENCE.split(message, maxsplit=1)[0]
    text = first if len(first) <= ROOM else textwrap.shorten(first, ROOM, placeholder=" ...")
    return text.replace("`", "").replace("|", "\\|")

"""Markdown in which nothing from a repository can end a code span, open a link or call anybody."""

from __future__ import annotations

import re

from graphfix.report.escape import escaped

# inside of a word an underscore means itself
_SPECIAL = re.compile(r"([\\*{}\[\]<>#|~&@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_SPAN = re.compile(r"`([^`]+)`")


def code(text: str) -> str:
    """`text` as a code span."""
    text = escaped(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    # a bar would end a table's cell even in a code span; its escape is taken off by the table
    return f"{ticks}{pad}{text}{pad}{ticks}"


def prose(text: str) -> str:
    """A message of graphfix: code spans stay, the rest means itself."""
    parts = _SPAN.split(escaped(text))
    return "".join(code(part) if number % 2 else _SPECIAL.sub(r"\\\1", part) for number, part in enumerate(parts))


def cell(text: str) -> str:
    """Markdown for a cell of a table."""
    return text.replace("|", "\\|")


def fence(language: str, text: str) -> str:
    """`text` as a block of code."""
    lines = "\n".join(escaped(line.expandtabs(4)) for line in text.rstrip("\n").split("\n"))
    ticks = "`" * max(3, max((len(run) for run in re.findall("`+", lines)), default=0) + 1)
    return f"{ticks}{language}\n{lines}\n{ticks}"

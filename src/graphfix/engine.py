"""Stand-in for the analysis: finds two simple shapes by pattern."""

from __future__ import annotations

import re
from pathlib import Path

from graphfix.model import Append, Applicability, Finding, Fix, Label, Replace, Span

_LEGACY = re.compile(r"(\w+)\.data\[0\]")
_TOTAL = re.compile(r"^[ \t]*(\w+) \+= (loss)[ \t]*(?:#.*)?$", re.MULTILINE)


def findings_of(path: Path, text: str, roots: tuple[Path, ...]) -> list[Finding]:
    """The findings of one file."""
    found = []

    def span(match: re.Match[str], group: int) -> Span:
        start = len(text[: match.start(group)].encode())
        return Span(start, start + len(match[group].encode()))

    for match in _LEGACY.finditer(text):
        place = span(match, 0)
        fix = Fix(Applicability.SAFE, "use `.item()`", (Replace(place, f"{match[1]}.item()"),))
        label = Label(str(path), place, "indexes a scalar")
        found.append(Finding("GF901", "legacy-scalar", f"`{match[1]}` is indexed", str(path), place, (label,), fix))
    for match in _TOTAL.finditer(text.replace("\r", "\n")):
        place = span(match, 2)
        fix = Fix(Applicability.SAFE, "add a number", (Append(place, ".item()"),))
        message = f"`{match[1]}` keeps the graph of every iteration alive"
        found.append(Finding("GF101", "accumulated-graph", message, str(path), place, (), fix))
    return found

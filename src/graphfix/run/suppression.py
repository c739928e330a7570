"""Comments that silence findings: `# graphfix: ignore[GF201, carried-state]`, `# graphfix: skip-file`, `# noqa: GF201`, `# noqa`."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import field

from graphfix.lazy_dataclass import dataclass
from graphfix.model import Finding
from graphfix.source.lines import LineIndex

# what silences nothing of graphfix need not be told from strings
_MARKER = re.compile(r"graphfix:|noqa(?:\s*:[^\r\n]*GF|(?!\s*:))", re.IGNORECASE)
# few files have what the others match: `re` compiles these at their first use, and keeps them
_IGNORE = r"(?i)#\s*graphfix:\s*ignore(?![-\w])(?:\[(?P<codes>[^\]]*)\])?"
_SKIP_FILE = r"(?i)#\s*graphfix:\s*skip-file(?![-\w])"
# as for ruff and flake8: without codes it is meant for all tools; a colon without codes behind it is a slip
_BARE_NOQA = r"(?i)#\s*noqa\b(?!\s*:)"
_NOQA = r"(?i)#\s*noqa\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)"


@dataclass(frozen=True)
class Suppressions:
    """Codes and names silenced by row; an empty code silences all rules. `bare`: rows whose `# noqa` is meant for all tools."""

    index: LineIndex | None = None
    skip_file: bool = False
    rows: dict[int, tuple[str, ...]] = field(default_factory=dict)
    bare: frozenset[int] = frozenset()

    def silences(self, finding: Finding) -> bool:
        """Whether a comment on the first or the last line of the finding names its code, or all codes of all tools."""
        if self.skip_file:
            return True
        if self.index is None:
            return False
        first, _ = self.index.place(finding.span.start)
        last, _ = self.index.place(max(finding.span.start, finding.span.end - 1))
        if not self.bare.isdisjoint((first, last)):
            return True
        codes = self.rows.get(first, ()) + self.rows.get(last, ())
        return any(_means(code, finding) for code in codes)

    def unused(self, findings: Iterable[Finding]) -> list[tuple[int, str]]:
        """The offset of the line and the code of every suppression that silences none of the `findings`.

        A bare `# noqa` is never one: it may be there for another tool.
        """
        if self.index is None:
            return []
        used: set[tuple[int, str]] = set()
        for finding in findings:
            for offset in (finding.span.start, max(finding.span.start, finding.span.end - 1)):
                row, _ = self.index.place(offset)
                used |= {(row, code) for code in self.rows.get(row, ()) if _means(code, finding)}
        written = [(row, code) for row, codes in sorted(self.rows.items()) for code in codes]
        return [(self.index.offset(row, 1), code) for row, code in written if (row, code) not in used]


@functools.lru_cache(maxsize=1)
def suppressions(text: str) -> Suppressions:
    """The suppressions in the comments of `text`, which parses."""
    if not _MARKER.search(text):
        return Suppressions()
    rows: dict[int, tuple[str, ...]] = {}
    bare: set[int] = set()
    for row, comment in _comments(text):
        if re.search(_SKIP_FILE, comment):
            return Suppressions(skip_file=True)
        codes = _codes(comment)
        if codes:
            rows[row] = codes
        if re.search(_BARE_NOQA, comment):
            bare.add(row)
    return Suppressions(LineIndex(text), rows=rows, bare=frozenset(bare))


def _codes(comment: str) -> tuple[str, ...]:
    codes: list[str] = []
    for match in re.finditer(_IGNORE, comment):
        listed = match["codes"]
        codes += [""] if listed is None else _split(listed)
    for match in re.finditer(_NOQA, comment):
        # the other codes are another tool's
        codes += [code for code in _split(match["codes"]) if code.startswith("GF")]
    return tuple(codes)


def _split(listed: str) -> list[str]:
    """The words of a list: codes and prefixes in capitals, names of rules in small letters, nothing for ALL."""
    words = [word for word in re.split(r"[,\s]+", listed) if word]
    return ["" if word.upper() == "ALL" else word.lower() if "-" in word else word.upper() for word in words]


def _means(code: str, finding: Finding) -> bool:
    return finding.code.startswith(code) or finding.name == code


def _comments(text: str) -> list[tuple[int, str]]:
    # newline=None so that a lone \r counts as a line here, as it does for the parser
    readline = io.StringIO(text, newline=None).readline
    try:
        return [(token.start[0], token.string) for token in tokenize.generate_tokens(readline) if token.type == tokenize.COMMENT]
    except (tokenize.TokenError, SyntaxError):
        return []
